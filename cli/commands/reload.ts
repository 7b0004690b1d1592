// `headgate reload`: always, only if no job would be held, or as a dry run.
import { Option } from 'commander';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { dryRunReload } from '../client/reload-dry-run.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';

type Reloaded = { readonly status: string; readonly reloaded_at: string; readonly message: string };
type ReloadOptions = AddressOptions & { readonly dryRun?: true; readonly refuseHeld?: true };

export const reloadCommand = command<ReloadOptions>({
  usage: 'reload',
  description:
    'let the running service reload its configuration; if the new one is invalid, the old one stays in force',
  examples: ['headgate reload', 'headgate reload --dry-run'],
  options: [
    ...addressOptions(),
    new Option('--dry-run', 'change nothing; report errors and the jobs that would be held').conflicts('refuseHeld'),
    new Option('--refuse-held', 'refuse a configuration that would hold jobs'),
  ],
  statuses:
    '0 the new configuration is in force, or --dry-run found nothing, 1 --dry-run found warnings, or jobs that would be held, ' +
    '78 the new configuration was refused, or --dry-run found errors',
  async run(call) {
    const client = await connect(call);
    if (call.options.dryRun) return dryRunReload(client, call.out);
    const hold = call.options.refuseHeld ? '?hold=refuse' : '';
    const reloaded = await client.post<Reloaded>(`/system/reload${hold}`, { message: true });
    await call.out.answer(reloaded, () => [reloaded.message]);
    return exitStatus.ok;
  },
});
