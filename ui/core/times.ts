// The setting whether times are shown exactly, or as how long ago they were.
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
