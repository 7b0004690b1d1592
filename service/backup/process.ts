// The process that writes one backup for a running service. Its priority is lower than that of the service, and it ends with the service.
// While it waits for the disk of the backup, the service goes on.
import { realpathSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { basename, dirname, join, sep } from 'node:path';
import { ignoreDebugSignal } from '../../runtime/debug-signal.ts';
import { makeDirectory } from '../../runtime/durable-file.ts';
import { forbidInspection } from '../../runtime/inspection.ts';
import { BackupRefused } from './manifest.ts';
import { type Backup, type BackupEnd, type BackupOrder, writeBackup } from './write.ts';

/** `into`: the directory of the backups. `path`: the path of the backup below `into`; null: the backup gets a name made from the time. */
export type ServiceOrder = Pick<BackupOrder, 'statePath' | 'version'> & {
  readonly into: string;
  readonly path: string | null;
};

/** How much lower the priority of this process is than that of the service, as a difference of nice values. */
const niceness = 10;
const nicenessMax = 19;

// If the system refuses, it has also refused the service's own call, and the service has logged the refusal.
await forbidInspection().catch(() => {});
ignoreDebugSignal();
const order = JSON.parse(process.argv[2]!) as ServiceOrder;
// When the service ends, this pipe closes, and the process kills itself. `process.exit` would first wait for the end of the copy. Until then
// this process would read the ledger, and the next start of the service would have to wait for it.
process.stdin.resume().once('close', () => process.kill(process.pid, 'SIGKILL'));
setPriority(Math.min(nicenessMax, getPriority() + niceness));
process.umask(0o077);
const end = await write(order).then(
  ({ path, manifest }): BackupEnd => ({ kind: 'written', path, manifest }),
  (error: Error): BackupEnd => ({
    kind: error instanceof BackupRefused ? 'refused' : 'failed',
    reason: error.message,
  }),
);
process.stdout.write(JSON.stringify(end), () => process.exit(0));

async function write({ into, path, statePath, version }: ServiceOrder): Promise<Backup> {
  makeDirectory(into, 0o700);
  const to = path === null ? into : placeBelow(into, path);
  if (to === null) throw new BackupRefused(`${path} is not in a directory below ${into}`);
  return writeBackup({ statePath, to, version });
}

/** The path below `into`. Null: its directory does not exist, or a link leads out of `into`. */
function placeBelow(into: string, path: string): string | null {
  const target = join(into, path);
  try {
    const [home, parent] = [realpathSync(into), realpathSync(dirname(target))];
    return parent === home || parent.startsWith(home + sep) ? join(parent, basename(target)) : null;
  } catch {
    return null;
  }
}
