// If a job of a run had very many events, earlier versions wrote a record for them to the table `emissions`. This file
// converts these records to fan-outs.
import { type Body, bodyPart } from '../../../runtime/host/wire/outcome.ts';
import type { JobId } from '../../../runtime/ids.ts';
import { packedNull, unpack } from '../../../runtime/packing.ts';
import { contentsOf, listCount } from '../../../runtime/splice.ts';
import { keyText } from '../../job/records/open.ts';
import { type Cursor, cursorKey, isOfEarlierFlood, type Origin } from '../records/deferred-event.ts';
import type { RunTable } from '../run-table.ts';
import { addFan } from '../tokens/parked-token.ts';

/** Converts the records, but only removes those of ended and failing runs. Must be called in the first turn after startup. */
export function adoptFloods(table: RunTable, bodyOf: (job: JobId) => Body): void {
  const { reader, setAside, batch } = table;
  // The values of all other waiting events stay unread, because they may take much memory.
  const keys: Buffer[] = [];
  for (const key of reader.keys('emissions', {})) if (isOfEarlierFlood(key)) keys.push(Buffer.from(key));
  for (const key of keys) {
    const origin = setAside.read('emissions', key, () => unpack<Origin>(reader.get('emissions', key)!));
    if (!origin?.place) continue;
    const { job, plugin, depth, context, place } = origin;
    const begun = reader.get('emissions', cursorKey(key));
    batch.remove('emissions', key);
    batch.remove('emissions', cursorKey(key));
    const run = table.find(keyText(place.run));
    const scope = run?.scopes.get(place.scope);
    if (!run || !scope || run.failure !== null) continue;
    const body = bodyOf(job);
    const list = bodyPart(body, 'events')!;
    const event = { type: `${plugin}.result`, source: plugin, dedupeKey: null };
    const result = bodyPart(body, 'result') ?? packedNull;
    const plan = {
      ...place,
      cause: job,
      depth,
      event,
      context,
      list,
      result,
      isBehindJob: true,
      hasEvents: true,
    } as const;
    const cursor = begun ? unpack<Cursor>(begun) : { index: 0, at: contentsOf(list) };
    addFan(table, run, { id: run.fansMade++, count: listCount(list), ...cursor, plan, stored: false });
    table.touch(run, scope);
  }
}
