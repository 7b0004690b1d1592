// The process that writes one backup for a running service. It has a lower priority than the service, and ends with it.
import { setPriority } from 'node:os';
import { BackupRefused } from './manifest.ts';
import { type BackupEnd, type BackupOrder, writeBackup } from './write.ts';

/** The number by which the nice value of this process exceeds that of the service. */
const niceness = 10;

const order = JSON.parse(process.argv[2]!) as Pick<BackupOrder, 'statePath' | 'to' | 'version'>;
// The service keeps this pipe open as long as it wants the backup.
process.stdin.resume().once('close', () => process.exit(1));
setPriority(niceness);
process.umask(0o077);
const end = await writeBackup(order).then(
  ({ path, manifest }): BackupEnd => ({ kind: 'written', path, manifest }),
  (error: Error): BackupEnd => ({
    kind: error instanceof BackupRefused ? 'refused' : 'failed',
    reason: error.message,
  }),
);
process.stdout.write(JSON.stringify(end), () => process.exit(0));
