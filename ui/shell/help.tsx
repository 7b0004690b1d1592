// The list of keys.
import type { JSX } from 'preact';
import { knownKeys } from '../core/keys.ts';
import { Dialog } from '../parts/index.ts';

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {knownKeys().map(({ key, text }) => (
          <div key={key}>
            <dt>
              {key.split(' ').map(one => (
                <kbd key={one}>{one}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
