// The process that writes one backup for a running service. Its priority is lower than that of the service, and it ends with the service.
import { getPriority, setPriority } from 'node:os';
import { BackupRefused } from './manifest.ts';
import { type BackupEnd, type BackupOrder, writeBackup } from './write.ts';

/** How much lower the priority of this process is than that of the service, as a difference of nice values. */
const niceness = 10;
const nicenessMax = 19;

const order = JSON.parse(process.argv[2]!) as Pick<BackupOrder, 'statePath' | 'to' | 'version'>;
// When the service ends, this pipe closes, and the process kills itself. `process.exit` would first wait for the end of the copy. Until then
// this process would read the ledger, and the next start of the service would have to wait for it.
process.stdin.resume().once('close', () => process.kill(process.pid, 'SIGKILL'));
setPriority(Math.min(nicenessMax, getPriority() + niceness));
process.umask(0o077);
const end = await writeBackup(order).then(
  ({ path, manifest }): BackupEnd => ({ kind: 'written', path, manifest }),
  (error: Error): BackupEnd => ({
    kind: error instanceof BackupRefused ? 'refused' : 'failed',
    reason: error.message,
  }),
);
process.stdout.write(JSON.stringify(end), () => process.exit(0));
