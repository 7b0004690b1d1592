// Whether times are shown as how long ago, or exactly.
import { effect, signal } from '@preact/signals';

const storageKey = 'headgate.times';

export const timesAreExact = signal(localStorage.getItem(storageKey) === 'exact');

effect(() => {
  if (timesAreExact.value) localStorage.setItem(storageKey, 'exact');
  else localStorage.removeItem(storageKey);
});

export function toggleTimes(): void {
  timesAreExact.value = !timesAreExact.peek();
}
