#!/usr/bin/env node
// The command `headgate`.
import { Command, CommanderError } from 'commander';
import { checkConfiguration } from './config-check.ts';
import { parseGrace } from './grace.ts';
import { printHints } from './hints.ts';
import { start } from './start.ts';
import { version } from './version.ts';

const program = new Command('headgate')
  .description('A job-execution gateway: plugins and pipelines as durable jobs.')
  .version(version)
  .exitOverride()
  .showHelpAfterError();

program
  .command('start')
  .description('run the service until SIGTERM or SIGINT; SIGHUP reloads the configuration')
  .option('--config <path>', 'a configuration file, or a directory that holds config.yaml')
  .option('--grace <duration>', 'how long running jobs may take to finish when it is stopped', parseGrace, 30_000)
  .addHelpText('after', '\nExample:\n  headgate start --config examples/dependency-report')
  .action(async ({ config, grace }: { config?: string; grace: number }) => {
    const started = await start({ path: config, graceMs: grace });
    if (!started) return process.exit();
    printHints(started);
    process.exit(await started.ended);
  });

const config = program.command('config').description('look at the configuration without starting anything');
config
  .command('check')
  .description('report everything that is wrong: exit status 0 clean, 1 warnings only, 78 errors')
  .option('--config <path>', 'a configuration file, or a directory that holds config.yaml')
  .addHelpText('after', '\nExample:\n  headgate config check --config ./config.yaml')
  .action(({ config: path }: { config?: string }) => {
    process.exitCode = checkConfiguration(path);
  });

program
  .command('version')
  .description('print the version')
  .addHelpText('after', '\nExample:\n  headgate version')
  .action(() => {
    process.stdout.write(`${version}\n`);
  });

try {
  await program.parseAsync();
} catch (error) {
  if (!(error instanceof CommanderError)) throw error;
  process.exitCode = error.exitCode === 0 ? 0 : 2;
}
