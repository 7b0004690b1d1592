// Actions of the user: each is a call of the API, and a toast that says how the call ended.
import { signal } from '@preact/signals';
import { Refusal } from './api.ts';
import { refusedToastMs, toastMs } from './toast-times.ts';

export type Toast = {
  readonly id: number;
  readonly kind: 'done' | 'refused';
  readonly text: string;
  readonly detail: string;
  /** A link to what the call created, such as a job. */
  readonly link?: { readonly text: string; readonly href: string };
};

const toastsMax = 4;

export const toasts = signal<readonly Toast[]>([]);
let nextId = 1;

export function toast(given: Omit<Toast, 'id'>): void {
  const id = nextId++;
  toasts.value = [...toasts.peek().slice(1 - toastsMax), { ...given, id }];
  setTimeout(() => dismiss(id), given.kind === 'done' ? toastMs : refusedToastMs);
}

export function dismiss(id: number): void {
  toasts.value = toasts.peek().filter(one => one.id !== id);
}

/** What a toast says after a call. */
export type ActSaid =
  | string
  | { readonly text: string; readonly link?: { readonly text: string; readonly href: string } };

/**
 * Runs a call. A toast shows `description` with the text that `run` returns, or with the refusal. If `run` returns null, there is no toast.
 * Returns whether the call succeeded. Throws every error except a `Refusal`.
 */
export async function act(description: string, run: () => Promise<ActSaid | null | undefined>): Promise<boolean> {
  try {
    const said = await run();
    if (said === null) return true;
    const { text, link } = typeof said === 'object' ? said : { text: said ?? '', link: undefined };
    toast({ kind: 'done', text: description, detail: text, ...(link && { link }) });
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const again = error.retryAfterS === null ? '' : ` Try again in ${error.retryAfterS} s.`;
    toast({ kind: 'refused', text: `${description}: ${error.title}`, detail: error.detail + again });
    return false;
  }
}
