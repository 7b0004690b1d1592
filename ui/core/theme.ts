// Light or dark, and the colours of the style for drawings on a canvas.
import { computed, effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark';
const storageKey = 'headgate.theme';
const themes: readonly Theme[] = ['auto', 'light', 'dark'];

const kept = localStorage.getItem(storageKey) as Theme | null;
export const theme = signal<Theme>(kept !== null && themes.includes(kept) ? kept : 'auto');

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const systemIsDark = signal(prefersDark.matches);
prefersDark.addEventListener('change', ({ matches }) => {
  systemIsDark.value = matches;
});

/** Whether the page is dark. Drawings read this, so that they are drawn again when it changes. */
export const isDark = computed(() => (theme.value === 'auto' ? systemIsDark.value : theme.value === 'dark'));

effect(() => {
  const chosen = theme.value;
  if (chosen === 'auto') {
    delete document.documentElement.dataset['theme'];
    localStorage.removeItem(storageKey);
  } else {
    document.documentElement.dataset['theme'] = chosen;
    localStorage.setItem(storageKey, chosen);
  }
});

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.peek()) + 1) % themes.length]!;
}

/** The value of a colour such as `--accent`, as `rgb(…)`. */
export function colour(name: string): string {
  const probe = document.createElement('span');
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
