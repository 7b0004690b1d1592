// The command `headgate config show`, which prints a view of the merged configuration without its secrets (`viewOf`).
import { command, configOption } from '../command.ts';
import { readConfiguration } from '../configuration.ts';

export const configShow = command<{ readonly config?: string }>({
  usage: 'config show',
  description:
    'print what GET /config/view shows of the configuration merged from all its files (name and log level of the service, address and scopes of ' +
    'the API, config of the plugins, redacted, names of the pipelines, times of the schedules), and the settings that need a restart; always JSON',
  examples: ['headgate config show --config ./config.yaml'],
  options: [configOption()],
  async run({ options, io, out }) {
    const config = await readConfiguration(options.config, io);
    const { viewOf } = await import('../../config/view.ts');
    const { restartSettings } = await import('../../config/section/restart.ts');
    const view = { ...viewOf(config), needs_restart: restartSettings.map(({ key }) => key) };
    await out.answer(view, () => JSON.stringify(view, null, 2).split('\n'));
  },
});
