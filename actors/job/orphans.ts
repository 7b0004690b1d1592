// Jobs whose plugin, or whose command, is gone since they were accepted: they fail, with that reason.
import { encodeBody } from '../../runtime/host/outcome.ts';
import type { Turn } from '../../runtime/turn.ts';
import type { Desk } from './desk.ts';
import type { Lane } from './lane.ts';

/** So many of them end at once. */
const orphansMax = 256;

/** Ends the next of the lane's waiting jobs; returns how many. */
export function failOrphans(desk: Desk, turn: Turn, lane: Lane): number {
  const missing = lane.instance ? 'the command is no longer part of the plugin' : 'the plugin is no longer configured';
  const body = encodeBody({ error: Buffer.from(missing) });
  const orphaned = { from: 'queued', attempt: 0, status: 'failed', startedUs: null, body } as const;
  const isThere = (command: string) => lane.instance !== null && lane.command(command) !== undefined;
  let jobs = 0;
  while (jobs < orphansMax && lane.waiting > 0) {
    const again = lane.again.peek();
    if (again) {
      if (isThere(again.open.command)) break;
      lane.again.shift();
      lane.waiting--;
      jobs++;
      again.open.back = again.open.back.filter(other => other !== again.index);
      if (again.kept) desk.dropRetry(turn, again.open, again.index);
      // The attempt that was to come is the one that fails: those before have logs of their own.
      desk.end(turn, again.open, again.index, { ...orphaned, attempt: again.kept ? again.attempt : 0 });
      continue;
    }
    const open = lane.fresh.peek()!;
    if (isThere(open.command)) break;
    for (; jobs < orphansMax && open.next < open.count; jobs++) {
      lane.waiting--;
      desk.end(turn, open, open.next++, orphaned);
    }
    if (open.next === open.count) lane.fresh.shift();
  }
  desk.sendSettled(turn);
  return jobs;
}
