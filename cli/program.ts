// Builds the commander program from the declarations of commands.
import { Command } from 'commander';
import type { CommandCall, CommandDeclaration } from './command.ts';
import { exitStatus } from './exit-status.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';
import { version } from './version.ts';

/** The description of each group of commands, and an example for its help. */
const groups: { readonly [words: string]: readonly [description: string, example: string] } = {
  config: ['check, show and seal the configuration, without starting anything', 'headgate config check'],
  plugin: ['list, run, create and test plugins', 'headgate plugin run greet handle --payload \'{"name":"Ada"}\''],
  pipeline: ['list, run and draw pipelines', 'headgate pipeline run greet-all --payload \'{"people":["Ada"]}\''],
  action: ['list and show actions over many jobs', 'headgate action list'],
  job: ['list, show, follow and cancel jobs', 'headgate job list --status failed --limit 20'],
  pause: ['pause a plugin, a pipeline or the whole service', 'headgate pause plugin mailer --for 30m'],
  resume: ['end a pause', 'headgate resume plugin mailer'],
  schedule: [
    'list, run, pause and backfill schedules, and print the times of a cron expression',
    'headgate schedule list',
  ],
  vault: [
    'manage secrets, and the principals that receive them',
    'headgate vault secret set smtp-password < password.txt',
  ],
  'vault principal': ['manage the principals that receive secrets', 'headgate vault principal add greet --kind plugin'],
  'vault secret': [
    'set, roll and revoke secrets; values come from stdin or a prompt, never from arguments',
    'headgate vault secret set smtp-password --grant mailer < password.txt',
  ],
  service: ['run headgate as a systemd service', 'headgate service print --config /etc/headgate'],
  state: ['show, upgrade, export and repair the state', 'headgate state info'],
  token: ['create API tokens', 'headgate token new ci --scope plugin:rw'],
  completion: ['print shell completion scripts', 'source <(headgate completion bash)'],
};

/** `done` is called with the exit status of the command that ran. */
export function makeProgram(
  commands: readonly CommandDeclaration[],
  io: Io,
  done: (exitStatus: number) => void,
): Command {
  const program = new Command('headgate')
    .description('A job-execution gateway: plugins and pipelines as durable jobs.')
    .addHelpText('after', '\nExample:\n  headgate init my-gateway')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for more)')
    .configureOutput({
      writeOut: text => void io.stdout.write(text),
      writeErr: text => void io.stderr.write(text),
      getOutHelpWidth: () => io.stdout.columns ?? 100,
      getErrHelpWidth: () => io.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  for (const declaration of commands) register(program, declaration, io, done);
  return program;
}

function register(program: Command, declaration: CommandDeclaration, io: Io, done: (exitStatus: number) => void): void {
  const { usage, description, examples, options: declared, statuses, run } = declaration;
  const parts = usage.split(' ');
  const words = parts.filter(part => /^\w/.test(part));
  const parent = words.slice(0, -1).reduce((outer, _, depth) => group(outer, words.slice(0, depth + 1)), program);
  const own = parent.command(parts.slice(words.length - 1).join(' ')).description(description);
  for (const option of declared) own.addOption(option);
  own.option('--json', 'print one JSON document on stdout, and everything else on stderr');
  if (statuses) own.addHelpText('after', `\nExit status: ${statuses}`);
  addExamples(own, examples);
  own.action(async () => {
    const { json: _, ...options } = own.opts<{ json?: true }>();
    // Commander assigns the `--json` of a subcommand (`backup verify`) to the outer command (`backup`), so the outer options count as well.
    const { json } = own.optsWithGlobals<{ json?: true }>();
    const call: CommandCall = { options, args: own.args, io, out: new Output(io, json === true), program };
    done((await run(call as CommandCall<never>)) ?? exitStatus.ok);
  });
}

function group(outer: Command, words: readonly string[]): Command {
  const name = words.at(-1)!;
  const known = outer.commands.find(inner => inner.name() === name);
  if (known) return known;
  const about = groups[words.join(' ')];
  if (!about) throw new Error(`the group of commands "${words.join(' ')}" has no description`);
  const [description, example] = about;
  return addExamples(outer.command(name).description(description), [example]);
}

function addExamples(command: Command, examples: readonly string[]): Command {
  const heading = examples.length > 1 ? 'Examples' : 'Example';
  return command.addHelpText('after', `\n${heading}:\n${examples.map(line => `  ${line}`).join('\n')}`);
}
