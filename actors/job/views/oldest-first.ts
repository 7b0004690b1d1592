// Finds the spans of jobs that can contain matches of a selection, oldest first, in a table that suits the selection.
import { keyAfter } from '../../../runtime/bytes.ts';
import { type BlockKey, blockKeyBytes, blockOf, indexOf, type JobId, jobIdBytes } from '../../../runtime/ids.ts';
import { readable } from '../../../runtime/store/set-aside.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import type { Selection } from '../records/action.ts';
import { findBlock, groupOf } from '../records/block.ts';
import {
  failureStatuses,
  headgatePlugin,
  matchesCommand,
  pipelinePlugin,
  type TerminalStatus,
} from '../records/job.ts';
import { endOfBlocks, endOfIds, numberKey, unsuccessfulKey } from '../records/list-indexes.ts';
import type { NameTable } from '../records/name-table.ts';
import { keyText, OpenBlock } from '../records/open.ts';
import { rerunsOf } from '../records/reruns.ts';
import { indexesIn, rangesOf, treeRange } from '../records/tree.ts';

/** A span: some or all jobs of a block. `indexes` are in ascending order; null: all jobs. */
export type JobSpan = { readonly key: BlockKey; readonly indexes: readonly number[] | null };

/** The maximum number of keys that one scan reads, if it reads only keys. */
const keysPerStep = 256;
/** The maximum number of records that one scan reads. */
const blocksPerStep = 64;

/** The spans for a selection, some of which may lie before `after`. The caller can pause at each null. */
export function* spansOf(
  reader: Reader,
  names: NameTable,
  selection: Selection,
  after: JobId | null,
): Iterable<JobSpan | null> {
  const { jobId, rerunOf, status, plugin, command, pipeline, children } = selection;
  const within = selection.root ?? selection.run ?? selection.parent;
  const from = after ?? Buffer.alloc(jobIdBytes);
  if (jobId) yield { key: blockOf(jobId), indexes: [indexOf(jobId)] };
  else if (rerunOf) yield* ofPages(rerunsOf(reader, rerunOf, 'up', from));
  else if (within) yield* ofTree(reader, within, from);
  else if (status === 'queued' || status === 'running') yield* ofOpen(reader, selection, from);
  else {
    const onlyRuns = pipeline !== null && !children;
    const isNamed = plugin !== null || command !== null || onlyRuns;
    const isWanted = (name: { readonly plugin: string; readonly command: string }) =>
      name.plugin !== headgatePlugin &&
      matchesCommand(selection, name) &&
      (!onlyRuns || (name.plugin === pipelinePlugin && name.command === pipeline));
    const numbers = names.commands.filter(isWanted).map(({ number }) => number);
    if (status !== null && status !== 'succeeded') yield* ofUnsuccessful(reader, numbers, [status], from);
    else if (selection.fingerprint !== undefined) yield* ofUnsuccessful(reader, numbers, failureStatuses, from);
    else if (isNamed) yield* ofCommands(reader, numbers, from);
    else yield* ofAll(reader, from);
  }
}

/** The spans of these jobs, whose ids are in ascending order. */
export function* spansOfIds(ids: Iterable<JobId>): Iterable<JobSpan> {
  let key: BlockKey | null = null;
  let indexes: number[] = [];
  for (const id of ids) {
    if (key && Buffer.compare(key, blockOf(id)) === 0) indexes.push(indexOf(id));
    else {
      if (key) yield { key, indexes };
      key = Buffer.from(blockOf(id));
      indexes = [indexOf(id)];
    }
  }
  if (key) yield { key, indexes };
}

function* ofAll(reader: Reader, after: Uint8Array): Iterable<JobSpan | null> {
  for (let from: Uint8Array = blockOf(after); ; ) {
    const keys = Array.from(reader.keys('blocks', { from, limit: keysPerStep }), key => Buffer.from(key));
    for (const key of keys) yield { key, indexes: null };
    if (keys.length < keysPerStep) return;
    from = keyAfter(keys.at(-1)!);
    yield null;
  }
}

function* ofCommands(reader: Reader, numbers: readonly number[], after: Uint8Array): Iterable<JobSpan | null> {
  const walk = oldestKeys(reader, 'by_command', numbers.map(numberKey), blockOf(after), endOfBlocks);
  for (const key of walk) yield key && { key, indexes: null };
}

function* ofUnsuccessful(
  reader: Reader,
  numbers: readonly number[],
  statuses: readonly TerminalStatus[],
  after: Uint8Array,
): Iterable<JobSpan | null> {
  const prefixes = numbers.flatMap(number =>
    statuses.map(status => unsuccessfulKey(number, status, new Uint8Array(0))),
  );
  yield* ofPages(oldestKeys(reader, 'unsuccessful', prefixes, after, endOfIds));
}

/**
 * The spans of these jobs, whose ids are in ascending order. A null among the ids ends a page of ids. The caller can pause at each null
 * among the spans.
 */
function* ofPages(ids: Iterable<JobId | null>): Iterable<JobSpan | null> {
  let page: JobId[] = [];
  for (const id of ids) {
    if (id) page.push(id);
    else {
      yield* spansOfIds(page);
      page = [];
      yield null;
    }
  }
  yield* spansOfIds(page);
}

/**
 * The keys that begin with one of the prefixes, each without its prefix. Of these, the keys from `first` up to, not including, `end` are
 * returned, in ascending order. The caller can pause at each null.
 */
function* oldestKeys(
  reader: Reader,
  table: 'by_command' | 'unsuccessful',
  prefixes: readonly Buffer[],
  first: Uint8Array,
  end: Buffer,
): Iterable<Buffer | null> {
  for (let from = first; ; ) {
    const found: Buffer[] = [];
    for (const prefix of prefixes) {
      const range = { from: Buffer.concat([prefix, from]), to: Buffer.concat([prefix, end]), limit: keysPerStep };
      for (const key of reader.keys(table, range)) found.push(Buffer.from(key.subarray(prefix.length)));
    }
    const page = found.sort(Buffer.compare).slice(0, keysPerStep);
    yield* page;
    if (page.length < keysPerStep) return;
    from = keyAfter(page.at(-1)!);
    yield null;
  }
}

function* ofOpen(reader: Reader, selection: Selection, after: Uint8Array): Iterable<JobSpan | null> {
  for (let from: Uint8Array = blockOf(after); ; ) {
    const spans: JobSpan[] = [];
    let seen = 0;
    for (const { key, value } of reader.scan('open', { from, limit: blocksPerStep })) {
      const own = Buffer.from(key);
      seen++;
      from = keyAfter(own);
      const open = readable(() => OpenBlock.decode(keyText(own), value));
      if (!open || !matchesCommand(selection, open)) continue;
      const indexes: number[] = [];
      for (let index = 0; index < open.count; index++) if (!open.isSettled(index)) indexes.push(index);
      spans.push({ key: own, indexes });
    }
    yield* spans;
    if (seen < blocksPerStep) return;
    yield null;
  }
}

/** The spans of the tree that the job belongs to: first the root, then the descendants from the block of `after` on. */
function* ofTree(reader: Reader, id: JobId, after: Uint8Array): Iterable<JobSpan | null> {
  const block = readable(() => findBlock(reader, id));
  if (!block) return;
  const root = groupOf(block, indexOf(id)).group.root ?? id;
  yield { key: Buffer.from(blockOf(root)), indexes: [indexOf(root)] };
  const { to } = treeRange(root);
  for (let from: Uint8Array = Buffer.concat([root, blockOf(after)]); ; ) {
    const entries = Array.from(reader.scan('tree', { from, to, limit: blocksPerStep }), ({ key, value }) => ({
      key: Buffer.from(key),
      ranges: rangesOf(value),
    }));
    for (const { key, ranges } of entries) yield { key: key.subarray(-blockKeyBytes), indexes: indexesIn(ranges) };
    if (entries.length < blocksPerStep) return;
    from = keyAfter(entries.at(-1)!.key);
    yield null;
  }
}
