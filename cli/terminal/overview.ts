// Formats an overview: as one line, and as the parts of a screen.
import type { FailureDocument, LaneDocument, OverviewDocument } from '../client/overview.ts';
import { pauseLines } from '../client/pauses.ts';
import { failureGroupLines } from './failures.ts';
import { sparkline } from './plot.ts';
import { table } from './table.ts';
import { dim, field, type Piece, statusPiece, type TerminalLine } from './text.ts';
import { formatAt, formatMs, msOf, spanMs } from './time.ts';

/** The columns by which lanes can be sorted. */
export const laneOrders = ['depth', 'name', 'running', 'oldest', 'time'] as const;
export type LaneOrder = (typeof laneOrders)[number];

/** Compares two lanes for sorting. Lanes that compare as equal are sorted by name. */
const comparisons: { readonly [Order in LaneOrder]: (a: LaneDocument, b: LaneDocument) => number } = {
  depth: (a, b) => b.queued_count - a.queued_count,
  name: () => 0,
  running: (a, b) => b.active_count - a.active_count,
  oldest: (a, b) => startOf(a) - startOf(b),
  time: (a, b) => (b.run_p95_us ?? -1) - (a.run_p95_us ?? -1),
};

function startOf({ oldest_queued_at: at }: LaneDocument): number {
  return at === null ? Number.MAX_SAFE_INTEGER : msOf(at);
}

export function sortedLanes(lanes: readonly LaneDocument[], order: LaneOrder, isReversed = false): LaneDocument[] {
  const compare = comparisons[order];
  const sorted = lanes.toSorted((a, b) => compare(a, b) || (a.plugin < b.plugin ? -1 : 1));
  return isReversed ? sorted.reverse() : sorted;
}

/** `perSecond`: how many jobs ended per second since the previous overview; null if this is unknown. */
export function overviewLine(overview: OverviewDocument, perSecond: number | null): TerminalLine {
  const { captured_at: at, counts, queue, recent, pauses, failure_groups: groups = [] } = overview;
  const [last] = groups;
  const { oldest_queued_at: oldest } = queue;
  const parts = [
    `${counts['queued'] ?? 0} queued`,
    `${counts['running'] ?? 0} running`,
    oldest === null ? 'no job waits' : `oldest ${ageText(oldest, at)}`,
    `${rateText(perSecond ?? recent.per_second)}/s`,
    failedText(recent.error_rate),
    p95Text(recent),
    ...(pauses.length > 0 ? [`${pauses.length} paused`] : []),
    ...(last ? [`last failure ${last.plugin}.${last.command}: ${last.count} × ${last.pattern}`] : []),
  ];
  return [dim(secondOf(at)), `  ${parts.join('  ')}`];
}

/** The parts of a screen. `lanes` and `failures` each begin with a heading. */
export type OverviewParts = {
  readonly head: readonly TerminalLine[];
  readonly lanes: readonly TerminalLine[];
  /** Empty if there are no failures. */
  readonly failures: readonly TerminalLine[];
};

export function overviewParts(
  overview: OverviewDocument,
  lanes: readonly LaneDocument[],
  perSecond: number | null,
): OverviewParts {
  return { head: headLines(overview, perSecond), lanes: laneLines(overview, lanes), failures: failureLines(overview) };
}

function headLines(
  { captured_at: at, counts, queue, recent, trend, pauses }: OverviewDocument,
  perSecond: number | null,
): TerminalLine[] {
  const { oldest_queued_at: oldest } = queue;
  const waiting = [
    `${queue.queue_depth} ready`,
    ...(queue.delayed_count > 0 ? [`${queue.delayed_count} for a retry`] : []),
    ...(queue.scheduled_count > 0 ? [`${queue.scheduled_count} scheduled`] : []),
    ...(queue.held_count > 0 ? [`${queue.held_count} held`] : []),
    ...(queue.paused_count > 0 ? [`${queue.paused_count} paused`] : []),
  ];
  const now = perSecond === null ? '' : `${rateText(perSecond)}/s now, `;
  const busy = `${Math.round(queue.utilization * 100)} % of ${queue.max_workers} workers busy`;
  const jobs = Object.entries(counts).flatMap(([status, count]) => [`${count} `, statusPiece(status), '  ']);
  return [
    field('jobs', ...jobs.slice(0, -1)),
    field('queue', `${waiting.join(', ')}; ${oldest === null ? 'no job waits' : `oldest ${ageText(oldest, at)}`}`),
    field(
      'work',
      `${now}${rateText(recent.per_second)}/s in ${formatMs(recent.seconds * 1000)}, ${failedText(recent.error_rate)}; ${busy}`,
    ),
    field('times', p95Text(recent)),
    field('hour', { text: sparkline(trend.settled), style: 'cyan' }, `  ${Math.max(...trend.settled)}/min`),
    ...pauseLines(pauses),
  ];
}

function laneLines({ captured_at: at }: OverviewDocument, lanes: readonly LaneDocument[]): TerminalLine[] {
  const rows = lanes.map(lane => [
    lane.plugin,
    String(lane.queued_count),
    String(lane.active_count),
    lane.limit === null ? '-' : String(lane.limit),
    lane.oldest_queued_at === null ? '-' : ageText(lane.oldest_queued_at, at),
    timeText(lane.queue_p95_us),
    timeText(lane.run_p95_us),
    stateOf(lane),
  ]);
  return table(['LANE', 'QUEUED', 'RUNNING', 'LIMIT', 'OLDEST', 'QUEUE P95', 'RUN P95', 'STATE'], rows);
}

/** The reasons why the lane runs fewer jobs than it could. */
function stateOf({ hold, breaker, isolated, held_count: held }: LaneDocument): Piece {
  const reasons = [
    ...(hold ? [hold.detail] : held > 0 ? [`${held} held`] : []),
    ...(breaker === 'half_open' ? ['breaker half open: one job at a time'] : []),
    ...(isolated ? ['isolated: one job at a time'] : []),
  ];
  return reasons.length === 0 ? '' : { text: reasons.join('; '), style: 'yellow' };
}

/** Groups of failed jobs; if the service could not read them, the jobs that failed last. */
function failureLines({ failures, failure_groups: groups }: OverviewDocument): TerminalLine[] {
  if (groups !== undefined) return groups.length === 0 ? [] : failureGroupLines(groups);
  if (failures.length === 0) return [];
  return table(['FAILED AT (UTC)', 'WHAT', 'STATUS', 'ERROR', 'JOB'], failures.map(failureRow));
}

const errorCharactersMax = 60;

function failureRow({ completed_at: at, plugin, command, status, job_id: id, last_error: error }: FailureDocument) {
  const [first = ''] = (error ?? '').split('\n', 1);
  const characters = [...first];
  const cut = characters.length <= errorCharactersMax ? first : `${characters.slice(0, errorCharactersMax).join('')}…`;
  return [secondOf(at), `${plugin}.${command}`, statusPiece(status), cut, dim(id)];
}

/** The time without a fraction of the second. */
function secondOf(at: string): string {
  return formatAt(at).slice(0, 19);
}

function ageText(from: string, to: string): string {
  return formatMs(spanMs(from, to)!);
}

function timeText(us: number | null): string {
  return us === null ? '-' : formatMs(us / 1000);
}

function p95Text({ queue_p95_us: queue, run_p95_us: run }: OverviewDocument['recent']): string {
  return `p95 queue ${timeText(queue)}, run ${timeText(run)}`;
}

function failedText(rate: number | null): string {
  return rate === null ? 'none ended' : `${(rate * 100).toFixed(2)} % failed`;
}

function rateText(perSecond: number): string {
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}
