// The command `headgate service print`, which prints a systemd unit.
import { basename, dirname, join } from 'node:path';
import { Option } from 'commander';
import { command, configOption } from '../command.ts';
import { readConfiguration } from '../configuration.ts';
import { matching } from '../quantity.ts';
import { installation } from '../version.ts';

export const servicePrint = command<{ readonly config?: string; readonly user: string }>({
  usage: 'service print',
  description: 'print a systemd unit for this installation and the configuration that is found',
  examples: ['headgate service print --config /etc/headgate --user headgate > headgate.service'],
  options: [
    configOption(),
    new Option('--user <name>', 'the user that the service runs as')
      .argParser(matching(/^[a-z_][a-z0-9_-]{0,31}$/, 'a user name looks like headgate.'))
      .default('headgate'),
  ],
  async run({ options, io, out }) {
    const config = await readConfiguration(options.config, io);
    const { serviceUnit } = await import('../service-unit.ts');
    const unit = serviceUnit({
      node: process.execPath,
      main: join(installation, 'dist/cli/main.js'),
      // A directory stands for the config.yaml in it.
      config: basename(config.mainFile) === 'config.yaml' ? dirname(config.mainFile) : config.mainFile,
      state: config.state.path,
      backups: config.backups.everyMs === null ? null : config.backups.into,
      auditExport: config.vault.auditExport,
      user: options.user,
      hasBubblewrap: Object.values(config.plugins).some(({ sandbox }) => sandbox?.kind === 'bwrap'),
    });
    await out.answer({ unit }, () => unit.trimEnd().split('\n'));
    out.note('install it: save this as /etc/systemd/system/headgate.service, then');
    out.note('  systemctl daemon-reload && systemctl enable --now headgate');
  },
});
