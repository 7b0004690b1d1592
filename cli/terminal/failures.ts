// Formats groups of failed jobs as a table.
import type { failureJson } from '../../service/json/failures.ts';
import { sparkline } from './plot.ts';
import { table } from './table.ts';
import type { TerminalLine } from './text.ts';
import { formatAt } from './time.ts';

export type FailureGroupDocument = ReturnType<typeof failureJson>;

const heading = ['FINGERPRINT', 'COUNT', 'LAST 24 HOURS', 'LAST (UTC)', 'WHAT', 'ERROR'];

export function failureGroupLines(groups: readonly FailureGroupDocument[]): TerminalLine[] {
  return table(heading, groups.map(row));
}

function row({ fingerprint, plugin, command, pattern, count, trend, last_at: at }: FailureGroupDocument) {
  const history = { text: sparkline(trend), style: 'cyan' as const };
  return [fingerprint, String(count), history, formatAt(at), `${plugin}.${command}`, pattern];
}
