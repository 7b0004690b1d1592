// The command `headgate reload`. With `--refuse-held` the service reloads only if no further job would be held. `--dry-run` only
// reports.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import { dryRunReload } from '../client/reload-dry-run.ts';
import { exitStatus } from '../exit-status.ts';

type Reloaded = { readonly message: string; readonly warnings?: readonly string[] };
type ReloadOptions = { readonly dryRun?: true; readonly refuseHeld?: true };

export const reloadCommand = clientCommand<ReloadOptions>({
  usage: 'reload',
  description:
    'let the running service reload its configuration; if the new one is invalid, the old one stays in force',
  examples: ['headgate reload', 'headgate reload --dry-run'],
  options: [
    new Option('--dry-run', 'change nothing; report errors and the jobs that would be held').conflicts('refuseHeld'),
    new Option('--refuse-held', 'refuse a configuration that would hold jobs'),
  ],
  statuses:
    '0 the new configuration is in force, or --dry-run found nothing, 1 --dry-run found warnings, or jobs that would be held, ' +
    '78 the new configuration was refused, or --dry-run found errors',
  async run({ options, client, out }) {
    if (options.dryRun) return dryRunReload(client, out);
    const hold = options.refuseHeld ? '?hold=refuse' : '';
    const reloaded = await client.post<Reloaded>(`/system/reload${hold}`, { message: true });
    out.note(...(reloaded.warnings ?? []).map(line => `warning: ${line}`));
    await out.answer(reloaded, () => [reloaded.message]);
    return exitStatus.ok;
  },
});
