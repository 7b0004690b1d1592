// The table of cancels: who or what stopped a job or run (for instance a caller or a time limit), when, and why. A mark is the record of a
// cancel in force: it keeps the job or, for a run, the jobs of the run's current part (main part or phase) from starting. When the job or that
// part has ended, the mark becomes a note, which is pruned with the job; the timeout of a phase leaves no note. A job inside a cancelled run
// needs no record, because the run's record applies to it.
//
// A detached cancel of a run has a record of a third kind. The cancel covers the run. It also covers each run that an event starts, if the
// event came from a job of a covered run (`starterOf`). Open covered runs get marks of their own, one by one. The record is removed when no
// further run can be covered.
import { indexOf, type JobId, jobId } from '../../../runtime/ids.ts';
import { pack, unpack } from '../../../runtime/packing.ts';
import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { type Block, findBlock, groupOf } from './block.ts';
import type { JobGroup } from './job.ts';

export type Cancel = {
  readonly by: string;
  readonly atUs: number;
  readonly reason: string | null;
  /**
   * For a run: how many accepted jobs inside it never started, and how many elements of its fan-outs never became jobs. Otherwise both
   * are 0.
   */
  readonly notStarted: NotStarted;
  /** Set if the run's deadline, or the time limit of its phase, stopped the run. Absent for the timeout of the step that called the run. */
  readonly timeout?: TimeoutKind;
};
export type TimeoutKind = 'deadline' | 'phase';
/** A run that must be stopped: its deadline, the time limit of its phase or the timeout of the step that called it has passed. */
export type OverdueRun = { readonly run: JobId; readonly cancel: Cancel };
export type NotStarted = { readonly jobs: number; readonly elements: number };

type StoredCancel = readonly [
  by: string,
  atUs: number,
  reason: string | null,
  jobs: number,
  elements: number,
  timeout?: TimeoutKind,
];

const marks = 0;
const notes = 1;
const detached = 2;

function keyOf(kind: number, id: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), id]);
}

export function putMark(batch: Batch, id: JobId, cancel: Cancel): void {
  batch.put('cancels', keyOf(marks, id), encodeCancel(cancel));
}

/**
 * Writes the note of an ended job or run, or of a run whose main part or phase has ended, and removes its mark, if any. The timeout of
 * a phase leaves no note.
 */
export function putNote(batch: Batch, id: JobId, cancel: Cancel): void {
  batch.remove('cancels', keyOf(marks, id));
  if (cancel.timeout !== 'phase') batch.put('cancels', keyOf(notes, id), encodeCancel(cancel));
}

export function putDetached(batch: Batch, run: JobId, cancel: Cancel): void {
  batch.put('cancels', keyOf(detached, run), encodeCancel(cancel));
}

export function removeDetached(batch: Batch, run: JobId): void {
  batch.remove('cancels', keyOf(detached, run));
}

type StoredCancels = Iterable<readonly [id: JobId, value: Uint8Array]>;

export function readMarks(reader: Reader): StoredCancels {
  return readKind(reader, marks);
}

/** The records of detached cancels. */
export function readDetached(reader: Reader): StoredCancels {
  return readKind(reader, detached);
}

function* readKind(reader: Reader, kind: number): StoredCancels {
  const range = { from: Buffer.of(kind), to: Buffer.of(kind + 1) };
  for (const { key, value } of reader.scan('cancels', range)) yield [Buffer.from(key.subarray(1)), value];
}

/** Removes the notes, and the records of detached cancels, of the jobs of a block that is pruned. */
export function pruneNotes(reader: Reader, batch: Batch, block: Uint8Array, count: number): void {
  if (reader.count('cancels') === 0) return;
  for (const kind of [notes, detached]) {
    const range = { from: keyOf(kind, jobId(block, 0)), to: keyOf(kind, jobId(block, count)) };
    for (const key of reader.keys('cancels', range)) batch.remove('cancels', Buffer.from(key));
  }
}

export type CancelKind = 'mark' | 'note' | 'detached';
const kinds: readonly CancelKind[] = ['mark', 'note', 'detached'];

/** The job that a key belongs to, and the kind of the record. `kind` undefined: the kind is unknown. */
export function readCancelKey(key: Uint8Array): { readonly id: JobId; readonly kind: CancelKind | undefined } {
  return { id: Buffer.from(key.subarray(1)), kind: kinds[key[0]!] };
}

/** The mark of this job, otherwise its note. Null: the job has neither. */
export function cancelOfJob(reader: Reader, id: JobId): Cancel | null {
  return find(reader, marks, id) ?? find(reader, notes, id);
}

function find(reader: Reader, kind: number, id: JobId): Cancel | null {
  const bytes = reader.get('cancels', keyOf(kind, id));
  return bytes ? decodeCancel(bytes) : null;
}

/**
 * The cancel that applies to the job because of a run above it, or a detached cancel that applies to the job. Null: there is none. `isOpen`:
 * whether the job is unsettled.
 *
 * - A job of `finally` is cancelled only by a cancel of its own run.
 * - A note says that a part of its run was cancelled, and that this part has ended. Of the jobs of phases, it applies only to settled ones that
 *   were created before the cancel.
 */
export function cancelAround(reader: Reader, block: Block, index: number, isOpen: boolean): Cancel | null {
  let { group } = groupOf(block, index);
  let { createdUs } = block;
  let isInside = true;
  for (;;) {
    const run: JobId | null = group.run?.run ?? null;
    const { phase } = group;
    if (run === null) {
      if (group.parent === null || !hasDetached(reader)) return null;
      isInside = false;
    }
    if (!isInside && phase === 'finally') return null;
    const above = run ?? starterOf(reader, group);
    if (above === null) return null;
    const cancel = isInside ? cancelOfRun(reader, above, phase, createdUs, isOpen) : find(reader, detached, above);
    if (cancel) return cancel;
    if (phase === 'finally') return null;
    const next = findBlock(reader, above);
    if (!next) return null;
    ({ group } = groupOf(next, indexOf(above)));
    ({ createdUs } = next);
  }
}

/** The cancel of a run, as far as it applies to a job of the run. `phase`, `createdUs` and `isOpen` describe the job. */
function cancelOfRun(reader: Reader, run: JobId, phase: JobGroup['phase'], createdUs: number, isOpen: boolean) {
  const mark = find(reader, marks, run);
  if (mark || (isOpen && phase !== undefined)) return mark;
  const note = find(reader, notes, run);
  const isOfEarlierPart = note !== null && phase !== undefined && note.atUs < createdUs;
  return isOfEarlierPart ? null : note;
}

function hasDetached(reader: Reader): boolean {
  for (const _ of reader.keys('cancels', { from: Buffer.of(detached), limit: 1 })) return true;
  return false;
}

/** The group of the job. Null: the job is not stored. */
export function groupIn(reader: Reader, id: JobId): JobGroup | null {
  const block = findBlock(reader, id);
  return block ? groupOf(block, indexOf(id)).group : null;
}

/**
 * The run whose job started this run by an event. Null: no job of a run did so, the job is no longer stored or belongs to `finally`, or a
 * hook started this run. A detached cancel does not spread to runs that hooks or jobs of `finally` started.
 */
export function starterOf(reader: Reader, run: Pick<JobGroup, 'parent' | 'hooked'>): JobId | null {
  const cause = run.parent && groupIn(reader, run.parent);
  if (!cause?.run || cause.phase === 'finally' || (run.hooked && !cause.hooked)) return null;
  return cause.run.run;
}

function encodeCancel({ by, atUs, reason, notStarted: { jobs, elements }, timeout }: Cancel): Uint8Array {
  const packed = [by, atUs, reason, jobs, elements] as const;
  return pack(timeout === undefined ? packed : [...packed, timeout]);
}

export function decodeCancel(bytes: Uint8Array): Cancel {
  const [by, atUs, reason, jobs, elements, timeout] = unpack<StoredCancel>(bytes);
  return { by, atUs, reason, notStarted: { jobs, elements }, ...(timeout && { timeout }) };
}

/** The error of a job or run that this cancel has stopped. */
export function cancelText({ by, reason, timeout }: Cancel): string {
  if (timeout) return reason!;
  return reason === null ? `cancelled by ${by}` : `cancelled by ${by}: ${reason}`;
}
