// Draws the tree of a job with statuses and durations. If a job has many children, some are drawn and the others counted.
import { countText } from '../../runtime/text.ts';
import { countsText, type TreeJob, unsuccessfulText } from '../client/jobs.ts';
import { dim, statusPiece, type TerminalLine } from './text.ts';
import { formatMs, spanMs } from './time.ts';

/**
 * The maximum number of jobs that are kept for drawing, whatever their status. Beyond this number, only failed jobs with a kept parent are
 * kept, at most `laterFailuresMax`; all others are only counted.
 */
const jobsMax = 100_000;
const laterFailuresMax = 10_000;
const linesMax = 1_000;
const errorCharsMax = 120;

type TreeNode = {
  readonly id: string;
  readonly name: string;
  /** How many of the ended jobs inside the run did not succeed, as text. Null: all succeeded, or the job is not a run. */
  readonly inside: string | null;
  readonly status: string;
  readonly ranMs: number | null;
  readonly isReused: boolean;
  /** The phase of the run that the job belongs to; null: the main part, or the job is in no run. */
  readonly phase: string | null;
  /** The beginning of the job's error. Null: there is no error, or the caller may not see it. */
  readonly error: string | null;
  readonly parent: TreeNode | null;
  children: TreeNode[];
  /** Whether the job or one of its kept descendants failed, timed out or is dead. */
  hasFailed: boolean;
};

export class JobTree {
  readonly #nodes = new Map<string, TreeNode>();
  #top: TreeNode | null = null;
  readonly #counts = new Map<string, number>();
  #count = 0;

  /** Adds a job. Parents must be added before their children; the first job becomes the root of the drawing. */
  add(job: TreeJob): void {
    this.#count++;
    this.#counts.set(job.status, (this.#counts.get(job.status) ?? 0) + 1);
    if (!this.#isKept(job)) return;
    const parent = this.#top === null ? null : (this.#nodes.get(job.parent_job_id ?? '') ?? null);
    const { job_id: id, status } = job;
    const node: TreeNode = {
      id,
      name: `${job.plugin}.${job.command}`,
      inside: unsuccessfulText(job),
      status,
      ranMs: spanMs(job.started_at, job.completed_at),
      isReused: job.reused === true,
      phase: job.phase ?? null,
      error: errorOf(job),
      parent,
      children: [],
      hasFailed: false,
    };
    this.#nodes.set(id, node);
    this.#top ??= node;
    parent?.children.push(node);
    if (hasFailed(status))
      for (let at: TreeNode | null = node; at && !at.hasFailed; at = at.parent) at.hasFailed = true;
  }

  #isKept({ status, parent_job_id: parent }: TreeJob): boolean {
    if (this.#nodes.size < jobsMax) return true;
    return hasFailed(status) && this.#nodes.size < jobsMax + laterFailuresMax && this.#nodes.has(parent ?? '');
  }

  /**
   * The lines of the drawing, with at most `siblingsMax` children of each job. If a job has more children, those that failed or
   * have failed descendants are chosen first. With `failed`, only the root, failed jobs and their ancestors are drawn.
   */
  lines(siblingsMax: number, { failed = false } = {}): TerminalLine[] {
    if (this.#top === null) return [];
    const lines: TerminalLine[] = [];
    draw(this.#top, '', '', { siblingsMax, failed }, lines);
    const cut = lines.length > linesMax;
    return [...lines.slice(0, linesMax), ...(cut ? ['… the rest is not shown'] : []), this.#summary()];
  }

  #summary(): TerminalLine {
    return [dim(`${countText(this.#count, 'job')}: ${countsText(Object.fromEntries(this.#counts))}`)];
  }
}

type TreeOptions = { readonly siblingsMax: number; readonly failed: boolean };

/** Adds the lines of a job and its descendants. `first` is the prefix of the job's line, and `rest` the prefix of the lines below it. */
function draw(node: TreeNode, first: string, rest: string, choice: TreeOptions, lines: TerminalLine[]): void {
  if (lines.length > linesMax) return;
  lines.push(lineOf(node, first));
  const shown = chosen(node.children, choice);
  const hidden = node.children.filter(child => !shown.has(child));
  const last = hidden.length > 0 ? null : [...shown].at(-1);
  for (const child of shown) {
    const isLast = child === last;
    draw(child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`, choice, lines);
  }
  if (hidden.length > 0) lines.push([`${rest}└─ `, dim(`… ${hidden.length} more: ${tally(hidden)}`)]);
}

function lineOf(node: TreeNode, first: string): TerminalLine {
  const { id, name, inside, status, ranMs, isReused, phase, error, children } = node;
  // The error of a run usually repeats the error of a failed job that is drawn below the run.
  const why = children.some(child => child.hasFailed) ? null : error;
  return [
    first,
    { text: name, style: 'bold' },
    ' ',
    statusPiece(status),
    ranMs === null ? '' : ` ${formatMs(ranMs)}`,
    inside === null ? '' : { text: ` (${inside})`, style: 'yellow' },
    isReused ? dim(' reused') : '',
    phase === null ? '' : dim(` ${phase}`),
    dim(`  ${id}`),
    ...(why === null ? [] : [`  ${why}`]),
  ];
}

function errorOf({ result }: TreeJob): string | null {
  const [first = ''] = (result?.error ?? '').split('\n', 1);
  return first === '' ? null : first.length <= errorCharsMax ? first : `${first.slice(0, errorCharsMax)}…`;
}

/**
 * The children to draw, at most `siblingsMax`. With `failed`, only children with failures are chosen; otherwise children with failures are
 * preferred if not all can be drawn.
 */
function chosen(children: readonly TreeNode[], { siblingsMax, failed }: TreeOptions): Set<TreeNode> {
  const worse = children.filter(child => child.hasFailed);
  if (failed) return new Set(worse.slice(0, siblingsMax));
  if (children.length <= siblingsMax) return new Set(children);
  const others = children.filter(child => !child.hasFailed);
  return new Set([...worse, ...others].slice(0, siblingsMax));
}

function hasFailed(status: string): boolean {
  return status === 'failed' || status === 'timed_out' || status === 'dead';
}

function tally(nodes: readonly TreeNode[]): string {
  const counts = new Map<string, number>();
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1);
  const times = nodes.flatMap(({ ranMs }) => ranMs ?? []).sort((a, b) => a - b);
  const span = times.length === 0 ? '' : `, ${formatMs(times[0]!)} to ${formatMs(times.at(-1)!)}`;
  return countsText(Object.fromEntries(counts)) + span;
}
