// Keys: single ones (`j`, `/`, `?`) and sequences (`g j`). They do nothing while a field has the focus or a dialog is open.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

export type KeyAction = (() => void) | { readonly text: string; readonly run: () => void };
export type KeyMap = Readonly<Record<string, KeyAction>>;

const sequenceMs = 1_000;
const maps = signal<readonly { readonly current: KeyMap }[]>([]);
let begun: { readonly key: string; readonly atMs: number } | null = null;

/** Registers keys while the component is shown. Of two registrations of a key, the later one counts. */
export function useKeys(keys: KeyMap): void {
  const [entry] = useState<{ current: KeyMap }>(() => ({ current: keys }));
  entry.current = keys;
  useEffect(() => {
    maps.value = [...maps.peek(), entry];
    return () => {
      maps.value = maps.peek().filter(one => one !== entry);
    };
  }, []);
}

/** The registered keys that have a text. The help lists them. */
export function knownKeys(): readonly { readonly key: string; readonly text: string }[] {
  const texts = new Map<string, string>();
  for (const { current } of maps.value)
    for (const [key, action] of Object.entries(current)) if (typeof action !== 'function') texts.set(key, action.text);
  return [...texts].map(([key, text]) => ({ key, text }));
}

function find(key: string): KeyAction | undefined {
  return maps.peek().findLast(({ current }) => Object.hasOwn(current, key))?.current[key];
}

function isEditing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

addEventListener('keydown', event => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (isEditing(event.target) || document.querySelector('dialog[open]')) return;
  const { key } = event;
  // Enter and the space bar belong to the button or link that has the focus.
  const isControl = event.target instanceof Element && event.target.closest('a, button, summary') !== null;
  if (isControl && (key === 'Enter' || key === ' ')) return;
  const first = begun !== null && Date.now() - begun.atMs < sequenceMs ? begun.key : null;
  begun = null;
  const action = (first !== null && find(`${first} ${key}`)) || find(key);
  if (action) {
    event.preventDefault();
    typeof action === 'function' ? action() : action.run();
  } else if (maps.peek().some(({ current }) => Object.keys(current).some(name => name.startsWith(`${key} `))))
    begun = { key, atMs: Date.now() };
});
