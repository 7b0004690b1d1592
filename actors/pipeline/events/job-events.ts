// Inflates the body of an ended job, and reads its events.
import { checkBody } from '../../../runtime/host/wire/body-check.ts';
import { bodyPart, encodeBody, inflateBody } from '../../../runtime/host/wire/outcome.ts';
import { listCount } from '../../../runtime/splice.ts';
import type { SettledJob } from '../../job/protocol.ts';
import { bytesPerTurnMax } from '../run-table.ts';
import { type Emitted, readEvents } from './events.ts';

/** If a job has more events than this, they are processed in later turns. */
const eventsAtOnceMax = 256;

/** Inflates the body of a job. A job whose body cannot be decoded counts as failed in its run. */
export function inflated(settled: SettledJob): SettledJob {
  try {
    const body = inflateBody(settled.body);
    if (body === settled.body) return settled;
    checkBody(body);
    return { ...settled, body };
  } catch (error) {
    const reason = `the job's answer cannot be decoded: ${(error as Error).message}`;
    return { ...settled, status: 'failed', body: encodeBody({ error: Buffer.from(reason) }) };
  }
}

/**
 * The events of a job. Null: the events are a flood, and are processed in later turns. A flood has many events, many
 * bytes, or large baggage that each event would copy.
 */
export type JobEvents = readonly Emitted[] | null;
const noEvents: JobEvents = [];

/** The events of a job. Only a job that succeeded has events. `bytesMax`: events with more bytes are a flood. */
export function eventsOf({ status, body }: SettledJob, context: Uint8Array, bytesMax: number): JobEvents {
  const packed = status === 'succeeded' ? bodyPart(body, 'events') : undefined;
  if (packed === undefined) return noEvents;
  const count = listCount(packed);
  if (count === 0) return noEvents;
  const areMany = count > eventsAtOnceMax || packed.length > bytesMax;
  return areMany || (count > 1 && count * context.length > bytesPerTurnMax) ? null : readEvents(packed);
}
