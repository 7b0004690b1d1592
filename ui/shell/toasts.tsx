// Shows the toasts, which say how calls have ended. New toasts are announced to screen readers.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { dismiss, toasts } from '../core/actions.ts';
import { place } from '../core/router.ts';

export function Toasts(): JSX.Element {
  const { screen, id } = place.value;
  // A refusal concerns the screen on which it was shown.
  useEffect(
    () => () => {
      for (const { id, kind } of toasts.peek()) if (kind === 'refused') dismiss(id);
    },
    [screen, id],
  );
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text, detail, link }) => (
        <div key={id} class={`toast toast-${kind}`}>
          <div>
            <strong>{text}</strong>
            {detail !== '' && <p>{detail}</p>}
            {link && <a href={link.href}>{link.text}</a>}
          </div>
          <button type="button" class="toast-close" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
