// Draws the tree of a job: branches, statuses, durations; of many side by side only some, and what was left out.
import type { TreeJob } from '../client/jobs.ts';
import { type Line, type Piece, statusPiece } from './text.ts';
import { formatMs, spanMs } from './time.ts';

/** Jobs that are kept for drawing; those that come later are only counted. */
const jobsMax = 100_000;
const linesMax = 1_000;

/** What a drawing needs of a job. */
type Node = {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly ranMs: number | null;
  children: Node[];
};

export class JobTree {
  readonly #nodes = new Map<string, Node>();
  #top: Node | null = null;
  /** Status -> how many, of all jobs. */
  readonly #counts = new Map<string, number>();
  #count = 0;

  /** Parents come before their children; the first is the top, whoever its parent is. */
  add(job: TreeJob): void {
    this.#count++;
    this.#counts.set(job.status, (this.#counts.get(job.status) ?? 0) + 1);
    if (this.#nodes.size >= jobsMax) return;
    const ranMs = spanMs(job.started_at, job.completed_at);
    const node: Node = { id: job.job_id, name: nameOf(job), status: job.status, ranMs, children: [] };
    this.#nodes.set(node.id, node);
    if (this.#top === null) this.#top = node;
    else if (job.parent_job_id !== null) this.#nodes.get(job.parent_job_id)?.children.push(node);
  }

  /** At most so many of one parent's children; those that did not succeed come first into the choice. */
  lines(siblingsMax: number): Line[] {
    if (this.#top === null) return [];
    const lines: Line[] = [];
    draw(this.#top, '', '', siblingsMax, lines);
    const cut = lines.length > linesMax;
    return [...lines.slice(0, linesMax), ...(cut ? ['… the rest does not fit'] : []), this.#summary()];
  }

  #summary(): Line {
    const counts = [...this.#counts].map(([status, count]) => `${count} ${status}`);
    return [{ text: `${this.#count} ${this.#count === 1 ? 'job' : 'jobs'}: ${counts.join(', ')}`, style: 'dim' }];
  }
}

/** `first` leads to the job itself, `rest` stands before what is below it. */
function draw(node: Node, first: string, rest: string, siblingsMax: number, lines: Line[]): void {
  if (lines.length > linesMax) return;
  lines.push(lineOf(node, first));
  const shown = chosen(node.children, siblingsMax);
  const hidden = node.children.filter(child => !shown.has(child));
  const last = hidden.length > 0 ? null : node.children.at(-1);
  for (const child of shown) {
    const isLast = child === last;
    draw(child, `${rest}${isLast ? '└─ ' : '├─ '}`, `${rest}${isLast ? '   ' : '│  '}`, siblingsMax, lines);
  }
  if (hidden.length > 0)
    lines.push([`${rest}└─ `, { text: `… ${hidden.length} more: ${tally(hidden)}`, style: 'dim' }]);
}

function lineOf({ id, name, status, ranMs }: Node, first: string): Line {
  const took: Piece = ranMs === null ? '' : ` ${formatMs(ranMs)}`;
  return [first, { text: name, style: 'bold' }, ' ', statusPiece(status), took, { text: `  ${id}`, style: 'dim' }];
}

/** In their order. */
function chosen(children: readonly Node[], max: number): Set<Node> {
  if (children.length <= max) return new Set(children);
  const worse = children.filter(({ status }) => status !== 'succeeded').slice(0, max);
  const wanted = new Set([...worse, ...children.slice(0, max - worse.length)]);
  return new Set(children.filter(child => wanted.has(child)));
}

function tally(nodes: readonly Node[]): string {
  const counts = new Map<string, number>();
  for (const { status } of nodes) counts.set(status, (counts.get(status) ?? 0) + 1);
  const times = nodes.flatMap(({ ranMs }) => (ranMs === null ? [] : [ranMs]));
  const span = times.length === 0 ? '' : `, ${formatMs(least(times))} to ${formatMs(most(times))}`;
  return [...counts].map(([status, count]) => `${count} ${status}`).join(', ') + span;
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b));
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.max(a, b));
}

function nameOf({ plugin, command }: TreeJob): string {
  return `${plugin}.${command}`;
}
