// Shows the toasts, which say how calls have ended. New toasts are announced to screen readers.
import type { JSX } from 'preact';
import { dismiss, toasts } from '../core/actions.ts';

export function Toasts(): JSX.Element {
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
