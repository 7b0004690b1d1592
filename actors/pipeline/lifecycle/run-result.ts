// The result of a run that succeeded: the results of the tokens that arrived at its end.
import { pack, packedNull } from '../../../runtime/packing.ts';
import { gathered } from '../join/join-results.ts';
import type { Run, RunEnd } from '../run.ts';
import type { RunTable } from '../run-table.ts';
import { succeededWith } from './run-end.ts';

/**
 * If the results that a join collects exceed this size, the current part of the run fails. If the results that reach the end of the main part
 * exceed it, the run ends without its result.
 */
export const joinBytesMax = 64 * 2 ** 20;

/** The result of a run is a list if the definition ends forked (`endsForked`) or several tokens arrived, otherwise a single value. */
export function resultOf(table: RunTable, run: Run): RunEnd {
  const scope = run.scopes.get(0)!;
  if (scope.overflown) {
    const message = `the result is omitted: it has ${scope.bytes} bytes; the limit is ${joinBytesMax / 2 ** 20} MiB`;
    return succeededWith(packedNull, pack([{ level: 'warn', message }]));
  }
  const { arrived } = scope;
  const isList = run.version.compiled.endsForked || arrived > 1;
  // If the run does not end forked and no token has arrived, the events of all its tokens were dropped: their dedupe keys were known.
  return succeededWith(!isList && arrived === 0 ? packedNull : gathered(table, run, scope, isList));
}
