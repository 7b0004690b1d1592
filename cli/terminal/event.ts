// Formats an event of the event stream as one line.
import type { StreamEvent } from '../client/event-stream.ts';
import { type Counts, unsuccessfulText } from '../client/jobs.ts';
import { dim, type Style, type TerminalLine } from './text.ts';
import { formatAt } from './time.ts';

const styles: { readonly [type: string]: Style } = {
  'job.started': 'cyan',
  'job.completed': 'green',
  'job.retry_scheduled': 'yellow',
  'job.failed': 'red',
  'job.timed_out': 'red',
  'job.dead': 'red',
  'job.cancelled': 'yellow',
  'pipeline.completed': 'green',
  'pipeline.failed': 'red',
  'pipeline.timed_out': 'red',
  'pipeline.cancelled': 'yellow',
  gap: 'yellow',
};
const typeWidth = 20;

/**
 * The line has, in this order: time, type, plugin and command, other fields as `name=value`, the job's id, the counts of jobs
 * that did not succeed, and the error.
 */
export function eventLine({ type, fields }: StreamEvent): TerminalLine {
  // The ids of the root and the run are left out, because they are for programs.
  const { at, plugin, command, job_id: id, error, root_id: _root, run_id: _run, counts, ...more } = fields;
  const worse = counts === undefined ? null : unsuccessfulText({ counts: counts as Counts });
  const style = Object.hasOwn(styles, type) ? styles[type]! : 'bold';
  const name = [plugin, command].filter(word => word !== undefined).join('.');
  const rest = Object.entries(more).map(([key, value]) => `${key}=${textOf(value)}`);
  return [
    dim(typeof at === 'string' ? formatAt(at) : ''),
    '  ',
    { text: type.padEnd(typeWidth), style },
    ` ${[name, ...rest].filter(word => word !== '').join(' ')}`,
    dim(typeof id === 'string' ? `  ${id}` : ''),
    worse === null ? '' : { text: `  ${worse}`, style: 'yellow' },
    typeof error === 'string' ? { text: `  ${error}`, style: 'red' } : '',
  ];
}

/** The object that `--json` prints: the id if the event has one, the type, then the fields of the event. */
export function eventDocument({ id, type, fields }: StreamEvent): object {
  return { ...(id !== '' && { id }), type, ...fields };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
