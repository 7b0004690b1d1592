// `headgate version`.
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { version } from '../version.ts';

export const versionCommand = command({
  usage: 'version',
  description: 'print the version',
  examples: ['headgate version'],
  options: [],
  async run({ out }) {
    await out.answer({ version }, () => [version]);
    return exitStatus.ok;
  },
});
