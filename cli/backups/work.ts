// The common parts of the commands on backups and on the state: how they fail, and what they print.

import type { Unsettled } from '../../actors/job/views/unsettled.ts';
import { countText } from '../../runtime/text.ts';
import type { BackupManifest } from '../../service/backup/manifest.ts';
import { unsettledDocument } from '../../service/json/unsettled.ts';
import { wouldRunText } from '../client/pauses.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, failure } from '../failure.ts';
import type { Output } from '../output.ts';
import { field, type TerminalLine } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';

const commandsShown = 20;
const progressEveryBytes = 64 * 2 ** 20;

/** Runs `work`. If `work` throws BackupRefused, a fault of the store or a system error, throws a `CommandFailure` instead. */
export async function refusing<T>(title: string, work: () => Promise<T>): Promise<T> {
  const { BackupRefused } = await import('../../service/backup/manifest.ts');
  const { isStoreFault } = await import('../../runtime/store/fault.ts');
  try {
    return await work();
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    const { message, code } = error as NodeJS.ErrnoException;
    if (error instanceof BackupRefused) throw failure(exitStatus.failed, 'backup_refused', title, message, error);
    if (isStoreFault(error)) throw failure(exitStatus.io, 'store_fault', title, message, error);
    if (typeof code === 'string' && /^E[A-Z]+$/.test(code))
      throw failure(exitStatus.io, 'io_error', title, message, error);
    throw error;
  }
}

/** Returns a function that adds up the bytes it is given, and shows the sum as progress about every 64 MiB. */
export function byteProgress(out: Output): (bytes: number) => void {
  let [all, shown] = [0, 0];
  return bytes => {
    all += bytes;
    if (all - shown < progressEveryBytes) return;
    shown = all;
    out.progress(`${sizeText(all)} read`);
  };
}

export function sizeText(bytes: number): string {
  return bytes < 2 ** 30 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 30).toFixed(2)} GiB`;
}

export function manifestLines({ version, state_format, last_commit, counts, files }: BackupManifest): TerminalLine[] {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const at = last_commit === null ? 'no job yet' : `last commit ${formatAt(last_commit)}`;
  return [
    field('contains', `${countText(counts.jobs, 'job')}, ${countText(counts.schedules, 'schedule')}, ${at}`),
    field('files', `${files.map(({ name }) => name).join(', ')}: ${sizeText(bytes)}`),
    field('written', `by headgate ${version}, state format ${state_format}`),
  ];
}

/** The lines about the work that a service on this state would continue: counts, the age of the oldest job, and at most `commandsShown` commands. */
export function unsettledLines(unsettled: Unsettled, nowMs: number): TerminalLine[] {
  const { commands } = unsettled;
  const more = commands.length - commandsShown;
  return [
    [{ text: 'would run', style: 'yellow' }, ` ${wouldRunText(unsettledDocument(unsettled), nowMs)}`],
    ...commands.slice(0, commandsShown).map(({ plugin, command, jobs }) => `          ${jobs} ${plugin}.${command}`),
    ...(more > 0 ? [`          and jobs of ${more} more commands`] : []),
  ];
}
