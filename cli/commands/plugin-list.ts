// `headgate plugin list`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';

type Plugins = {
  readonly plugins: readonly {
    readonly name: string;
    readonly version: string;
    readonly description: string;
    readonly commands: readonly string[];
  }[];
};

export const pluginList = command<AddressOptions>({
  usage: 'plugin list',
  description: 'list the plugins of the service and their commands',
  examples: ['headgate plugin list'],
  options: addressOptions(),
  async run(call) {
    const found = await (await connect(call)).get<Plugins>('/plugins', { plugins: ['name', 'version', 'commands'] });
    await call.out.answer(found, () =>
      table(
        ['PLUGIN', 'VERSION', 'COMMANDS', 'DESCRIPTION'],
        found.plugins.map(({ name, version, commands, description }) => [
          name,
          version,
          commands.join(' '),
          description,
        ]),
      ),
    );
    return exitStatus.ok;
  },
});
