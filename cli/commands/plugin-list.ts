// The command `headgate plugin list`, which lists the plugins of the service.
import { clientCommand } from '../client/connect.ts';
import { table } from '../terminal/table.ts';

type Plugins = {
  readonly plugins: readonly {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly commands: readonly string[];
  }[];
};

export const pluginList = clientCommand({
  usage: 'plugin list',
  description: 'list the plugins of the service and their commands',
  examples: ['headgate plugin list'],
  async run({ client, out }) {
    const found = await client.get<Plugins>('/plugins', { plugins: ['name', 'version', 'commands'] });
    const rows = found.plugins.map(({ name, version, commands, description }) => {
      return [name, version, commands.join(' '), description];
    });
    await out.answer(found, () => table(['PLUGIN', 'VERSION', 'COMMANDS', 'DESCRIPTION'], rows));
  },
});
