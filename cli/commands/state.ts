// The commands `headgate state info`, `state upgrade` and `state export`.
import { setImmediate } from 'node:timers/promises';
import { Option } from 'commander';
import { refusing, sizeText } from '../backups/work.ts';
import { wouldRunText } from '../client/pauses.ts';
import { command, configOption } from '../command.ts';
import { readConfiguration, readStatePath } from '../configuration.ts';
import { exitStatus } from '../exit-status.ts';
import { printableJson } from '../terminal/text.ts';
import { version } from '../version.ts';
import { stateRepair } from './state-repair.ts';

type Options = { readonly config?: string };

/** How many keys of unreadable records `state export` names. */
const keysShown = 100;

const stateInfo = command<Options>({
  usage: 'state info',
  description:
    'show the format, the id and the size of a state, and what waits in it; also while a service is running on it',
  examples: ['headgate state info --config .'],
  options: [configOption()],
  statuses: '0 shown, 1 there is no state, 74 a disk error, 78 configuration',
  async run({ options, io, out }) {
    const statePath = await readStatePath(options.config, io);
    const { readState } = await import('../../service/backup/state.ts');
    const { formatsReadText } = await import('../../runtime/store/format.ts');
    const { unsettledDocument } = await import('../../service/json/unsettled.ts');
    const { unsettled, ...found } = await refusing('Not read', async () => readState(statePath));
    const waiting = unsettledDocument(unsettled);
    await out.answer({ ...found, unsettled: waiting }, () => [
      `state    ${found.path}, ${sizeText(found.bytes)}`,
      `format   ${found.format ?? 'none yet'}; this version reads ${formatsReadText}, and writes ${found.writes}`,
      `store    ${found.store_id ?? 'no id yet'}`,
      `jobs     ${found.jobs}, of them unsettled: ${wouldRunText(waiting, Date.now())}`,
    ]);
  },
});

const stateUpgrade = command<Options & { readonly dryRun?: true; readonly backup: boolean }>({
  usage: 'state upgrade',
  description: 'write the format of this version to a state of an older one, after a backup, as the next start would',
  examples: ['headgate state upgrade --dry-run', 'headgate state upgrade'],
  options: [
    configOption(),
    new Option('--dry-run', 'change nothing; say what would happen'),
    new Option('--no-backup', 'write no backup first'),
  ],
  statuses: '0 done, or nothing to do; 1 refused, 74 a disk error, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { state, backups } = await readConfiguration(options.config, io);
    const { backUpBeforeUpgrade, formatToUpgrade } = await import('../../service/backup/before-upgrade.ts');
    const { formatVersion } = await import('../../runtime/store/format.ts');
    const { unlessHeld, whileStopped } = await import('../backups/stopped.ts');
    const { readState } = await import('../../service/backup/state.ts');
    await refusing('Not upgraded', async () => {
      const from = readState(state.path).format;
      const isNeeded = (await formatToUpgrade(state.path)) !== null;
      const document = { from, to: formatVersion, needed: isNeeded };
      if (!isNeeded) return out.answer(document, () => [`the state has format ${from}: there is nothing to upgrade`]);
      if (options.dryRun) {
        const first = options.backup ? `after a backup in ${backups.into}` : 'without a backup';
        return out.answer(document, () => [`state format ${from} becomes ${formatVersion}, ${first}`]);
      }
      const why = 'the service must be stopped first';
      const backUp = () => backUpBeforeUpgrade({ state, backups }, version);
      const backup = options.backup ? await unlessHeld(state.path, why, backUp) : null;
      await whileStopped({ ...state, upgrades: true }, why, async () => {});
      await out.answer({ ...document, backup: backup?.path ?? null }, () => [
        `state format ${from} became ${formatVersion}${backup ? `; the state before is in ${backup.path}` : ''}`,
      ]);
    });
  },
});

const stateExport = command<Options>({
  usage: 'state export',
  description:
    'write schedules, jobs and logs as lines of JSON to stdout, with results; also while a service is running on the state',
  examples: ['headgate state export --config . > state.ndjson'],
  options: [configOption()],
  statuses:
    '0 written, 1 there is no state, or some jobs cannot be read and are left out; 74 a disk error, 78 configuration',
  async run({ options, io, out }) {
    const config = await readConfiguration(options.config, io);
    const { openState } = await import('../../service/backup/state.ts');
    const { exportLines } = await import('../../service/backup/export.ts');
    let unreadable = 0;
    const keys: string[] = [];
    const onUnreadable = (key: string): void => {
      unreadable++;
      if (keys.length < keysShown) keys.push(key);
    };
    await refusing('Not exported', async () => {
      const reader = openState(config.state.path);
      try {
        for (const piece of exportLines(reader, config, Date.now(), onUnreadable)) {
          await out.piece(printableJson(piece));
          // `piece` may resolve within one iteration of the event loop. Waiting for the next iteration lets the command end early if
          // the reader of a pipe is gone.
          await setImmediate();
          // Releases the pages that were read. While they are held, the service cannot reuse pages, and the ledger grows.
          reader.refresh();
        }
      } finally {
        reader.close();
      }
    });
    if (unreadable === 0) return exitStatus.ok;
    const more = unreadable > keys.length ? ` and ${unreadable - keys.length} more` : '';
    out.note(`left out, because they cannot be read: ${unreadable} blocks of jobs or jobs, ${keys.join(', ')}${more}`);
    return exitStatus.failed;
  },
});

export const stateCommands = [stateInfo, stateUpgrade, stateExport, stateRepair];
