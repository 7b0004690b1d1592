// Counts by status as a bar.
import type { JSX } from 'preact';
import { Bar, statusText } from '../../parts/index.ts';
import type { StatusCounts } from './plugin-data.ts';

const order = ['succeeded', 'running', 'queued', 'failed', 'timed_out', 'dead', 'cancelled'] as const;

export function CountsBar({ counts, label }: { counts: StatusCounts; label: string }): JSX.Element {
  const parts = order.map(status => ({ name: statusText(status), value: counts[status], color: `--status-${status}` }));
  return <Bar parts={parts} label={label} />;
}
