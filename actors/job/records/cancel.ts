// The table of cancels: who asked for the end of a job, when, and why. The record of a job that has not ended is its mark: nothing of the
// job starts any more. When the job ends, the mark becomes a note, which is pruned with the job. Jobs inside a cancelled run have no
// record of their own: theirs is that of the run.
import { type JobId, jobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type Block, findBlock, groupOf } from './block.ts';

export type Cancel = {
  readonly by: string;
  readonly atUs: number;
  readonly reason: string | null;
  /** Only of a run: jobs of it that were accepted and never started, and elements that never became jobs. */
  readonly notStarted: NotStarted;
};
export type NotStarted = { readonly jobs: number; readonly elements: number };

type StoredCancel = [by: string, atUs: number, reason: string | null, jobs: number, elements: number];

const marks = 0;
const notes = 1;

function keyOf(kind: number, id: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), id]);
}

export function putMark(batch: Batch, id: JobId, cancel: Cancel): void {
  batch.put('cancels', keyOf(marks, id), encodeCancel(cancel));
}

/** The job has ended: its mark, if it had one, becomes a note. */
export function putNote(batch: Batch, id: JobId, cancel: Cancel): void {
  batch.remove('cancels', keyOf(marks, id));
  batch.put('cancels', keyOf(notes, id), encodeCancel(cancel));
}

/** The marks of jobs that have not ended. */
export function* readMarks(reader: Reader): Iterable<readonly [id: JobId, value: Uint8Array]> {
  const range = { from: Buffer.of(marks), to: Buffer.of(notes) };
  for (const { key, value } of reader.scan('cancels', range)) yield [Buffer.from(key.subarray(1)), value];
}

/** Removes the notes of a block that is pruned. */
export function pruneNotes(reader: Reader, batch: Batch, block: Uint8Array, count: number): void {
  if (reader.count('cancels') === 0) return;
  const range = { from: keyOf(notes, jobId(block, 0)), to: keyOf(notes, jobId(block, count)) };
  for (const key of reader.keys('cancels', range)) batch.remove('cancels', Buffer.from(key));
}

/** The job that a key is about, and whether that job has not ended. */
export function readCancelKey(key: Uint8Array): { readonly id: JobId; readonly isMark: boolean } {
  return { id: Buffer.from(key.subarray(1)), isMark: key[0] === marks };
}

/** The cancel of this very job. Null: nobody asked for one. */
export function cancelOfJob(reader: Reader, id: JobId): Cancel | null {
  const bytes = reader.get('cancels', keyOf(marks, id)) ?? reader.get('cancels', keyOf(notes, id));
  return bytes ? decodeCancel(bytes) : null;
}

/** The cancel of the run that the job is inside of, or of one around that. Null: there is none. */
export function cancelAround(reader: Reader, block: Block, index: number): Cancel | null {
  let position = groupOf(block, index).group.run;
  while (position) {
    const cancel = cancelOfJob(reader, position.run);
    if (cancel) return cancel;
    const outer = findBlock(reader, position.run);
    position = outer ? groupOf(outer, Buffer.from(position.run).readUInt32BE(12)).group.run : null;
  }
  return null;
}

function encodeCancel({ by, atUs, reason, notStarted }: Cancel): Uint8Array {
  return pack([by, atUs, reason, notStarted.jobs, notStarted.elements] satisfies StoredCancel);
}

export function decodeCancel(bytes: Uint8Array): Cancel {
  const [by, atUs, reason, jobs, elements] = unpack<StoredCancel>(bytes);
  return { by, atUs, reason, notStarted: { jobs, elements } };
}

/** What a cancelled job says of it. */
export function cancelText({ by, reason }: Cancel): string {
  return reason === null ? `cancelled by ${by}` : `cancelled by ${by}: ${reason}`;
}
