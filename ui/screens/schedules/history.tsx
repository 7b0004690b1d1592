// The latest firings of a schedule as small marks, oldest first.
import type { JSX } from 'preact';
import { statusText } from '../../parts/index.ts';
import type { FiringView } from './schedule-view.ts';

const shown = 8;
const symbols: Readonly<Record<string, string>> = {
  succeeded: '✓',
  failed: '✕',
  timed_out: '◷',
  dead: '☒',
  cancelled: '⊘',
  running: '◐',
  queued: '○',
  skipped: '–',
  missed: '·',
};

export function History({ history }: { history: readonly FiringView[] }): JSX.Element {
  if (history.length === 0) return <span class="muted">none yet</span>;
  const latest = history.slice(0, shown).toReversed();
  const text = latest.map(({ outcome }) => statusText(outcome)).join(', ');
  return (
    <span class="firings" role="img" aria-label={`Last firings, oldest first: ${text}`} title={text}>
      {latest.map((firing, at) => (
        <span key={at} class={`firing status-${firing.outcome}`}>
          {symbols[firing.outcome] ?? '·'}
        </span>
      ))}
    </span>
  );
}
