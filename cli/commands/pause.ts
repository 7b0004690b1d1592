// The commands `headgate pause` and `headgate resume`, for a plugin, a pipeline or the whole service, and `headgate pauses`.
import { Option } from 'commander';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { fetchPauses, type PauseDocument, pausedUntil, pauseLines, targetName } from '../client/pauses.ts';
import type { CommandDeclaration, TextOptions } from '../command.ts';

const kinds = ['plugin', 'pipeline', 'system'] as const;
type Kind = (typeof kinds)[number];
type PauseOptions = TextOptions<'command' | 'for' | 'until' | 'reason'> & { readonly reject?: true };

const what: { readonly [K in Kind]: string } = {
  plugin: 'start no more jobs of a plugin or of instances that build on it; calls are accepted and wait',
  pipeline: 'start no more steps in the runs of a pipeline; calls are accepted and wait',
  system: 'start no more jobs at all; calls are accepted and wait',
};
const pauseExamples: { readonly [K in Kind]: readonly [string, ...string[]] } = {
  plugin: [
    'headgate pause plugin mailer --for 30m --reason "provider down"',
    'headgate pause plugin mailer --command send',
  ],
  pipeline: ['headgate pause pipeline import --until 2026-12-01T06:00:00Z'],
  system: ['headgate pause system --reason "database upgrade" --reject'],
};

function pauseCommand(kind: Kind): CommandDeclaration {
  return clientCommand<PauseOptions>({
    usage: usageOf('pause', kind),
    description: what[kind],
    examples: pauseExamples[kind],
    options: [
      ...(kind === 'plugin' ? [new Option('--command <name>', 'only this command of the plugin')] : []),
      new Option('--for <duration>', 'resume automatically after this time, such as 30m or 2h').conflicts('until'),
      new Option('--until <time>', 'resume automatically at this time (RFC 3339)'),
      new Option('--reason <text>', 'why; every waiting job shows it'),
      new Option('--reject', 'refuse new calls and webhook deliveries with 503 meanwhile'),
    ],
    async run({ client, options, args, out }) {
      const shape = { target: true, by: true, since: true } as const;
      const pause = await client.post<PauseDocument>(pathOf(kind, args[0], 'pause'), shape, options);
      await out.answer(pause, () => [`${targetName(pause.target)} is paused, ${pausedUntil(pause)}`]);
    },
  });
}

type Resumed = { readonly target: PauseDocument['target']; readonly resumed: boolean };

function resumeCommand(kind: Kind): CommandDeclaration {
  const name = kind === 'system' ? '' : kind === 'plugin' ? ' mailer' : ' import';
  return clientCommand<{ readonly command?: string }>({
    usage: usageOf('resume', kind),
    description: `let jobs of a paused ${kind === 'system' ? 'service' : kind} start again`,
    examples: [`headgate resume ${kind}${name}`],
    options: kind === 'plugin' ? [new Option('--command <name>', 'end the pause of this command')] : [],
    async run({ client, options, args, out }) {
      const shape = { target: true, resumed: true } as const;
      const answer = await client.post<Resumed>(pathOf(kind, args[0], 'resume'), shape, options);
      const { target, resumed } = answer;
      await out.answer(answer, () => [`${targetName(target)} ${resumed ? 'is resumed' : 'was not paused'}`]);
    },
  });
}

function usageOf(verb: 'pause' | 'resume', kind: Kind): string {
  return kind === 'system' ? `${verb} system` : `${verb} ${kind} <${kind}>`;
}

function pathOf(kind: Kind, name: string | undefined, verb: 'pause' | 'resume'): string {
  return name === undefined ? `/control/${kind}/${verb}` : `/control/${kind}/${segment(name)}/${verb}`;
}

const pausesCommand = clientCommand({
  usage: 'pauses',
  description: 'list what is paused, by whom, since when and until when',
  examples: ['headgate pauses', 'headgate pauses --json'],
  async run({ client, out }) {
    const list = await fetchPauses(client);
    await out.answer(list, () => (list.pauses.length === 0 ? ['nothing is paused'] : pauseLines(list.pauses)));
  },
});

export const pauseCommands: readonly CommandDeclaration[] = [
  ...kinds.map(pauseCommand),
  ...kinds.map(resumeCommand),
  pausesCommand,
];
