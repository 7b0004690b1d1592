// The command `headgate version`, which prints the version.
import { command } from '../command.ts';
import { version } from '../version.ts';

export const versionCommand = command({
  usage: 'version',
  description: 'print the version',
  examples: ['headgate version'],
  async run({ out }) {
    await out.answer({ version }, () => [version]);
  },
});
