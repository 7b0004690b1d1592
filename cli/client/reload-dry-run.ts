// Asks the running service for a dry run of a reload: the problems of the files on the service's disk, and the jobs that the
// reload would hold.

import type { QueuedJobs } from '../../actors/job/protocol.ts';
import { countText } from '../../runtime/text.ts';
import type { ReloadDryRun } from '../../service/reload.ts';
import { exitStatus } from '../exit-status.ts';
import type { Output } from '../output.ts';
import type { Client } from './client.ts';

type Trial = ReloadDryRun & { readonly held: readonly QueuedJobs[] };

/** Prints the findings; returns the exit status. */
export async function dryRunReload(client: Client, out: Output): Promise<number> {
  const trial = await client.post<Trial>('/system/reload?dry_run=true', { errors: true, warnings: true, held: true });
  const { errors, warnings, held } = trial;
  out.note(...errors);
  out.note(...warnings.map(line => `warning: ${line}`));
  await out.answer(trial, () => [
    ...held.map(({ plugin, command, jobs }) => `would hold ${countText(jobs, 'job')} of ${plugin}.${command}`),
    ...(errors.length + held.length === 0 ? ['ok, no job would be held'] : []),
  ]);
  if (errors.length > 0) return exitStatus.config;
  return warnings.length + held.length > 0 ? exitStatus.failed : exitStatus.ok;
}
