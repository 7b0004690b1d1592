// The commands `headgate backup` and `headgate backup verify`.
import { Option } from 'commander';
import { unsettledDocument } from '../../service/json/unsettled.ts';
import { byteProgress, manifestLines, refusing, unsettledLines } from '../backups/work.ts';
import { command, configOption } from '../command.ts';
import { readConfiguration, readStatePath } from '../configuration.ts';
import { exitStatus } from '../exit-status.ts';
import { version } from '../version.ts';

type Options = { readonly config?: string; readonly withVaultKey?: true; readonly withIndex?: true };

const writeBackup = command<Options>({
  usage: 'backup <path>',
  description:
    'copy the state as of one moment, even while a service is running on it; if the path is an existing directory, the backup is written into it and named after the time',
  examples: ['headgate backup /var/backups/headgate --config .', 'headgate backup ./before-upgrade'],
  options: [
    configOption(),
    new Option(
      '--with-vault-key',
      'also copy the unlock key of the vault: whoever has the backup can then read the secrets',
    ),
    new Option('--with-index', 'also copy the search index, which is otherwise rebuilt; the service must be stopped'),
  ],
  statuses: '0 written, 1 refused, 74 a disk error, 75 --with-index while a service is running, 78 configuration',
  async run({ options, args: [path = ''], io, out }) {
    const { withVaultKey, withIndex } = options;
    const config = withVaultKey || withIndex ? await readConfiguration(options.config, io) : null;
    const statePath = config?.state.path ?? (await readStatePath(options.config, io));
    const { resolve } = await import('node:path');
    const { writeBackup: write } = await import('../../service/backup/write.ts');
    const { whileStopped } = await import('../backups/stopped.ts');
    const startMs = performance.now();
    const work = () =>
      write({
        statePath,
        to: resolve(io.cwd, path),
        version,
        vaultKeyFile: withVaultKey && config?.vault.keyFile,
        withIndex,
        onBytes: byteProgress(out),
      });
    const why =
      '--with-index needs a stopped service: stop it, or leave out --with-index, because a restore rebuilds the index';
    const backup = await refusing('Not backed up', () =>
      config && withIndex ? whileStopped(config.state, why, work) : work(),
    );
    const tookMs = Math.round(performance.now() - startMs);
    await out.answer({ path: backup.path, took_ms: tookMs, ...backup.manifest }, () => [
      `backup   ${backup.path}`,
      ...manifestLines(backup.manifest),
    ]);
    if (withVaultKey) out.note('it has the unlock key: whoever can read this backup can read all secrets of the vault');
  },
});

const verifyBackup = command({
  usage: 'backup verify <path>',
  description: 'check the hashes and the records of a backup, and show what it would run',
  examples: ['headgate backup verify /var/backups/headgate/headgate-2026-11-28T03-00-00Z'],
  statuses: '0 whole, 1 damaged or not a backup, 74 a disk error',
  async run({ args: [path = ''], io, out }) {
    const { resolve } = await import('node:path');
    const { verifyBackup: verify } = await import('../../service/backup/verify.ts');
    const directory = resolve(io.cwd, path);
    const { manifest, problems, unsettled, selfcheck } = await refusing('Not verified', () =>
      verify(directory, byteProgress(out)),
    );
    const isWhole = problems.length === 0;
    const document = {
      path: directory,
      whole: isWhole,
      problems,
      would_run: unsettled && unsettledDocument(unsettled),
      selfcheck,
      manifest,
    };
    await out.answer(document, () => [
      [{ text: isWhole ? 'whole    ' : 'damaged  ', style: isWhole ? 'green' : 'red' }, directory],
      ...problems.map(problem => `         ${problem}`),
      ...manifestLines(manifest),
      ...(unsettled ? unsettledLines(unsettled, Date.now()) : []),
    ]);
    return isWhole ? exitStatus.ok : exitStatus.failed;
  },
});

export const backupCommands = [writeBackup, verifyBackup];
