// The command `headgate restore`, which makes a state directory from a backup.
import { Option } from 'commander';
import { unsettledDocument } from '../../service/json/unsettled.ts';
import { byteProgress, refusing, unsettledLines } from '../backups/work.ts';
import { command } from '../command.ts';
import { instantMs, parseInstant } from '../quantity.ts';

export const restoreCommand = command<{ readonly into: string; readonly resume?: true; readonly until?: string }>({
  usage: 'restore <path>',
  description:
    'make a state directory from a backup; a service that starts on it is paused until you resume it, and says what it would run',
  examples: [
    'headgate restore ./backups/headgate-2026-11-28T03-00-00Z --into ./data',
    'headgate restore ./backups --until 2026-11-28T09:41:00Z --into ./data',
  ],
  options: [
    new Option(
      '--into <directory>',
      'the state directory (state.path), which must not have a state',
    ).makeOptionMandatory(),
    new Option(
      '--until <time>',
      'restore the state as of this time; 10m means ten minutes ago; <path> may be the directory of the backups; needs backups.log',
    ).argParser(parseInstant),
    new Option(
      '--resume',
      'do not pause: jobs run, schedules fire and webhooks are accepted as soon as a service starts',
    ),
  ],
  statuses:
    '0 restored, 1 refused: the backup is damaged, the log does not reach the time, or there is a state or a running service already; 74 a disk error',
  async run({ args: [path = ''], options, io, out }) {
    const { join, resolve } = await import('node:path');
    const { restoreBackup } = await import('../../service/backup/restore.ts');
    const restored = await refusing('Not restored', () =>
      restoreBackup({
        backup: resolve(io.cwd, path),
        untilMs: options.until === undefined ? undefined : instantMs(options.until),
        into: resolve(io.cwd, options.into),
        resumes: options.resume === true,
        onBytes: byteProgress(out),
      }),
    );
    const { statePath, storeId, unsettled, manifest, turn } = restored;
    const paused = options.resume !== true;
    const document = {
      state_path: statePath,
      store_id: storeId,
      turn,
      paused,
      would_run: unsettledDocument(unsettled),
    };
    await out.answer(document, () => [
      `restored ${statePath} as of ${turn?.at ?? manifest.last_commit ?? manifest.created_at}, store ${storeId}`,
      ...unsettledLines(unsettled, Date.now()),
    ]);
    if (paused)
      out.note('a service on it starts paused: cancel what must not run twice, then run "headgate resume system"');
    const names = new Set(manifest.files.map(({ name }) => name));
    out.note(
      names.has('vault.key')
        ? `the unlock key is now ${join(statePath, 'vault.key')}: if "vault.key_file" names another file, move it there`
        : 'the backup has no unlock key: if the state has a vault, put its key file in place',
    );
  },
});
