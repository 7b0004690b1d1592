// Generates docs/cli.md from the declarations of the commands.
import type { CommandDeclaration } from '../../cli/command.ts';

/** Options of many commands. Only the preface describes them. */
const common = ['--url', '--config'];

const preface = `# The command line

<!-- Generated from the declarations of the commands by "npm run reference". -->

- \`headgate COMMAND --help\` prints the section of that command.
- Every command has \`--json\`: stdout then carries one JSON document. Commands that stream (\`events\`, \`job watch\`, \`top\`) print one
  object per line, and a call that fails prints a problem document (\`type, title, detail, code\`). Everything else goes to stderr.
- The configuration is \`--config\` (a file, or a directory that contains config.yaml), else \`HEADGATE_CONFIG\`, else the first of
  \`./config.yaml\`, \`$XDG_CONFIG_HOME/headgate\` and \`/etc/headgate\` that exists.
- Commands that call the service use \`--url\`, else \`HEADGATE_URL\`, else the configuration: the address that the running service
  wrote to \`<state.path>/api-address\`, else \`api.listen\`. An address from the configuration must belong to this machine.
- Commands that call the service use as much of the configuration as they can read: it may be invalid, and the environment variables
  of the service may be unset. If \`api.listen\` cannot be read, the command assumes its default and says why on stderr.
- The token is \`HEADGATE_TOKEN\`, else the tokens of the configuration (scope \`*\` first, at most 7), then the token in
  \`<state.path>/api-token\`, which \`init\` or the first start created. If the service refuses one, the command tries the next. If it
  refuses all, a line on stderr names the tokens that could not be read.
- Tokens of a configuration go only to the service of that configuration, never to \`--url\` or \`HEADGATE_URL\`.
- If \`./config.yaml\`, or a link in its place, belongs to another user (other than root), no token is sent, not even \`HEADGATE_TOKEN\`.
  Name the file with \`--config\` or \`HEADGATE_CONFIG\`, or the service with \`--url\` or \`HEADGATE_URL\`.
- The routes of the vault accept only the token in \`SERVICE_VAULT_TOKEN\`.
- Secret values come from stdin (one newline at the end is dropped) or from a prompt that does not echo. No option takes one:
  every user of the machine can read arguments.
- Durations look like \`500ms\`, \`30s\`, \`5m\`, \`2h\`. Times are in UTC. Colours and progress appear only on a terminal; \`NO_COLOR\`
  turns colours off. Control characters in the output of services and plugins are escaped.

| exit status | meaning |
| --- | --- |
| 0 | success |
| 1 | the job failed, a check found a problem, or the state of the job does not allow the request (409, such as \`already_settled\`) |
| 2 | invalid usage, or a request that the service rejects as invalid (400, 422) |
| 3 | the token is missing, unknown, or lacks the scope (401, 403) |
| 4 | not found (404) |
| 5 | the job, or the wait for it, timed out |
| 6 | the job was cancelled |
| 69 | the service cannot be reached, or answers 503 |
| 70 | an internal error |
| 74 | an I/O error, for example stdout that cannot be written |
| 75 | another process holds the state or a listening address |
| 78 | the configuration is invalid, or a reload was refused |
`;

export function cliPage(commands: readonly CommandDeclaration[]): string {
  return [preface, ...commands.map(sectionOf)].join('\n');
}

function sectionOf({ usage, description, statuses, options, examples }: CommandDeclaration): string {
  const sentence = `${description[0]!.toUpperCase()}${description.slice(1)}.${callOf(options)}`;
  const own = options.filter(({ long }) => !common.includes(long!));
  return [
    `## ${usage}`,
    '',
    ...(statuses === undefined ? [sentence] : [sentence, '', `Exit status: ${statuses}.`]),
    '',
    ...(own.length === 0 ? [] : [...own.map(optionLine), '']),
    '```sh',
    ...examples,
    '```',
    '',
  ].join('\n');
}

/** Whether the command calls the service, as a sentence. */
function callOf(options: CommandDeclaration['options']): string {
  const has = (name: string) => options.some(({ long }) => long === name);
  if (!has('--url')) return '';
  return has('--running') ? ' Calls the service only with `--running`.' : ' Calls the service.';
}

function optionLine({
  flags,
  description,
  argChoices,
  mandatory,
  defaultValue,
  defaultValueDescription,
}: CommandDeclaration['options'][number]): string {
  const facts = [
    ...(mandatory ? ['required'] : []),
    ...(argChoices ? [`one of ${argChoices.map(choice => `\`${choice}\``).join(', ')}`] : []),
    ...(defaultValue === undefined || defaultValue === true
      ? []
      : [`default \`${defaultValueDescription ?? defaultValue}\``]),
  ];
  return `- \`${flags}\`: ${description}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}`;
}
