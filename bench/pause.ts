// Waits for a time, or until a condition holds.
import { setTimeout as pause } from 'node:timers/promises';

export { pause };

export type Wait = { readonly everyMs: number; readonly withinMs: number; readonly what: string };

/**
 * Calls `look` every `everyMs` until it returns a value. Throws if that takes longer than `withinMs`; the error names
 * `what`.
 */
export async function until<T>(look: () => Promise<T | undefined> | T | undefined, wait: Wait): Promise<T> {
  const endMs = performance.now() + wait.withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > endMs) throw new Error(`${wait.what}: not within ${wait.withinMs} ms`);
    await pause(wait.everyMs);
  }
}
