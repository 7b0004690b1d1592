// Only the job of a delayed run is stored until its time comes. The run begins with the definition that is in force at
// that time; a rerun `from: failed` begins with the definition of its original run.
import { blockOf, indexOf, type JobId } from '../../../runtime/ids.ts';
import { blaming } from '../../failed-record.ts';
import { findBlock, groupOf } from '../../job/records/block.ts';
import { callEvent } from '../protocol.ts';
import { definitionOf } from '../reuse/reuse-sources.ts';
import type { RunTable } from '../run-table.ts';
import { enterRun, originOf, type RunStart, settleUnbegun } from './run-start.ts';

type DelayedStart = RunStart & { readonly name: string; readonly createdUs: number };

/** Begins a delayed run. If its definition is missing, the run ends as failed instead. `runAtUs`: when the run was to begin. */
export function beginDelayed(table: RunTable, id: JobId, runAtUs: number): void {
  const start = { ...startOf(table, id), runAtUs };
  const { name } = start;
  const of = start.reuse?.of;
  const gone = { missing: `the pipeline ${JSON.stringify(name)} is no longer configured` };
  const version = of ? definitionOf(table.reader, table.versions, of) : (table.versions.current(name) ?? gone);
  if ('missing' in version) {
    settleUnbegun(table, name, id, start, version.missing, 'failed');
    if (of) table.sources.end(id);
  } else enterRun(table, version, id, start, start.createdUs);
}

/** Ends a delayed run as cancelled. */
export function endDelayed(table: RunTable, id: JobId, error: string): void {
  const start = startOf(table, id);
  settleUnbegun(table, start.name, id, start, error, 'cancelled');
  if (start.reuse) table.sources.end(id);
}

function startOf({ reader }: RunTable, id: JobId): DelayedStart {
  const block = blaming({ kind: 'block', key: Buffer.from(blockOf(id)) }, () => findBlock(reader, id));
  if (!block) throw new Error('a delayed run has no block');
  const { group } = groupOf(block, indexOf(id));
  const { rerun } = group;
  const event = group.event!;
  const isDelivery = event.type !== callEvent.type || event.source !== callEvent.source;
  return {
    name: block.command,
    createdUs: block.createdUs,
    ...originOf(group),
    event,
    ...(isDelivery && { isDelivery: true as const }),
    payload: block.payload(indexOf(id)),
    called: null,
    ...(rerun?.from === 'failed' && { reuse: { of: rerun.of } }),
  };
}
