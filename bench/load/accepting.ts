// Sends the same request from many connections for a time, with wrk if it is installed, otherwise with the client in
// this folder.
import { type Loaded, runLoad } from './run.ts';
import { hasWrk, runWrk, type WrkPlan, type WrkResult } from './wrk.ts';

/** Throws if a request is refused, or if none is accepted. */
export async function runAccepting(service: Loaded, plan: Omit<WrkPlan, 'read'>): Promise<WrkResult> {
  const result = hasWrk() ? await runWrk(service, plan) : await runBundled(service, plan);
  if (result.completed === 0) throw new Error('nothing was accepted');
  return result;
}

async function runBundled(service: Loaded, { path, connections, seconds }: Omit<WrkPlan, 'read'>): Promise<WrkResult> {
  const until = { kind: 'time', ms: seconds * 1000 } as const;
  const result = await runLoad(service, { path, connections, until, expect: { status: 202 }, sampleEvery: 0 });
  return { ...result, perS: (result.completed * 1000) / result.elapsedMs };
}
