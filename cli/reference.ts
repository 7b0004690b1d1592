// docs/cli.md, written from the commands' declarations.
import type { Option } from 'commander';
import type { CommandDeclaration } from './command.ts';

/** Options that many commands have, and that are told of once. */
const common = ['--url', '--config'];

const preface = `# The command line

<!-- Written from the declarations of the commands; "npm run reference" writes it anew. -->

- \`headgate COMMAND --help\` says all of this for one command.
- With \`--json\`, which every command has, stdout carries one JSON document, or one object a line for what streams
  (\`events\`, \`job watch\`), or a problem document (\`type, title, detail, code\`) where the call failed. All else goes to stderr.
- The configuration is \`--config\` (a file, or a directory that holds config.yaml), else \`HEADGATE_CONFIG\`, else what exists of
  \`./config.yaml\`, \`$XDG_CONFIG_HOME/headgate\`, \`/etc/headgate\`.
- Commands that call the service find it by \`--url\`, else \`HEADGATE_URL\`, else \`api.listen\` of the configuration, which has to
  be an address of this machine.
- The token is \`HEADGATE_TOKEN\`. Without it, and where the address comes from a configuration that names no tokens, it is the one
  in \`<state.path>/api-token\`, which \`init\` or the first start has made. It is never sent to an address that was named otherwise.
  The vault's routes are called with \`SERVICE_VAULT_TOKEN\` alone.
- Secret values are read from stdin (one newline at the end is dropped), or asked for at a prompt that shows nothing. No
  option takes one: arguments can be read by everybody on the machine.
- Durations look like \`500ms\`, \`30s\`, \`5m\`, \`2h\`. Times are shown in UTC. Colours and progress appear only on a terminal, and
  colours not where \`NO_COLOR\` is set. What services and plugins say is shown without the control characters in it.

| exit status | meaning |
| --- | --- |
| 0 | all is well |
| 1 | the job did not succeed, or the check found something |
| 2 | wrong use of the command, or a request that the service calls wrong (400, 422) |
| 3 | no token, a wrong one, or one without the scope (401, 403) |
| 4 | there is no such thing (404) |
| 5 | the job, or waiting for it, timed out |
| 69 | the service cannot be reached, or answers 503 |
| 70 | a defect |
| 74 | a file or device failed |
| 75 | another process has the state or a listening address (\`start\`) |
| 78 | the configuration is wrong; also a reload that was refused |
`;

export function referencePage(commands: readonly CommandDeclaration[]): string {
  return [preface, ...commands.map(sectionOf)].join('\n');
}

function sectionOf({ usage, description, statuses, options, examples }: CommandDeclaration): string {
  const isClient = options.some(({ long }) => long === '--url');
  const sentence = `${description[0]!.toUpperCase()}${description.slice(1)}.${isClient ? ' Calls the service.' : ''}`;
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

function optionLine({
  flags,
  description,
  argChoices,
  mandatory,
  defaultValue,
  defaultValueDescription,
}: Option): string {
  const facts = [
    ...(mandatory ? ['required'] : []),
    ...(argChoices ? [`one of ${argChoices.map(choice => `\`${choice}\``).join(', ')}`] : []),
    ...(defaultValue === undefined || defaultValue === true
      ? []
      : [`default \`${defaultValueDescription ?? defaultValue}\``]),
  ];
  return `- \`${flags}\`: ${description}${facts.length === 0 ? '' : ` (${facts.join('; ')})`}`;
}
