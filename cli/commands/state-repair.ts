// The command `headgate state repair`, which gives up the end of a damaged commit log.
import { rmSync } from 'node:fs';
import { InvalidArgumentError, Option } from 'commander';
import { command, configOption } from '../command.ts';
import { readConfiguration } from '../configuration.ts';

export const stateRepair = command<{ readonly config?: string; readonly until: number }>({
  usage: 'state repair',
  description:
    'give up everything after one turn of a damaged commit log, while the service is stopped; a start that finds the damage names this turn',
  examples: ['headgate state repair --until 48213 --config .'],
  options: [
    new Option('--until <turn>', 'the last turn that stays; later jobs, results and changes are lost')
      .argParser(parseTurn)
      .makeOptionMandatory(),
    configOption(),
  ],
  statuses:
    '0 repaired, 74 the log has no such turn or cannot be read, 75 a service is running on it, 78 configuration',
  async run({ options: { config, until }, io, out }) {
    const { state } = await readConfiguration(config, io);
    const { indexPath } = await import('../../runtime/store/index-store.ts');
    const { renewStoreId } = await import('../../runtime/store/store-id.ts');
    const { whileStopped } = await import('../backups/stopped.ts');
    await whileStopped({ ...state, until }, 'the service must be stopped first', async store => {
      // The store needs a new id, because after this turn its history differs from that of its copies and of its archived log.
      renewStoreId(store);
      // The index still has data of the turns that were given up. The next start builds a new one.
      rmSync(indexPath(state.path), { recursive: true, force: true });
    });
    await out.answer({ repaired: true, turn: until }, () => [
      `repaired: turn ${until} is the last one; the old log is kept in ${state.path}/log-aside-*`,
    ]);
  },
});

function parseTurn(text: string): number {
  const turn = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(turn))
    throw new InvalidArgumentError('It must be the number of a turn.');
  return turn;
}
