// The command `headgate init`, which creates a working configuration in a new or empty directory.
import { join, relative, resolve } from 'node:path';
import { InvalidArgumentError, Option } from 'commander';
import { parseListen } from '../../config/quantity.ts';
import { command } from '../command.ts';

export const initCommand = command<{ readonly listen: string }>({
  usage: 'init <directory>',
  description: 'create a working configuration in a new directory, with an API token, an example plugin and a pipeline',
  examples: ['headgate init my-gateway'],
  options: [
    new Option('--listen <address>', 'where the API will listen').argParser(checkListen).default('127.0.0.1:8080'),
  ],
  async run({ options, args, io, out }) {
    const directory = resolve(io.cwd, args[0]!);
    const [{ writeFiles }, gateway, { localToken }] = await Promise.all([
      import('../scaffold/files.ts'),
      import('../scaffold/gateway.ts'),
      import('../../service/local-token.ts'),
    ]);
    const files = gateway.newGateway(options.listen);
    writeFiles(directory, files);
    const { token, file } = localToken(join(directory, 'data'));
    const there = quoted(relative(io.cwd, directory) || '.');
    out.note(`created ${directory}; the API token is stored in ${file}, and is shown only this once:`);
    await out.answer({ directory, files: files.map(({ path }) => path), token, token_file: file }, () => [token]);
    const { examplePayload: payload, examplePipeline: pipeline } = gateway;
    // npx sets this variable. A command that npx has run is not in the PATH afterwards.
    const headgate = io.env['npm_command'] === 'exec' ? 'npx headgate' : 'headgate';
    out.note(
      'start it:',
      `  ${headgate} start --config ${there}`,
      'then, in another terminal:',
      `  ${headgate} pipeline run ${pipeline} --payload '${payload}' --config ${there}`,
      `  ${headgate} job list --config ${there}`,
    );
  },
});

function checkListen(text: string): string {
  if (parseListen(text) === undefined) throw new InvalidArgumentError('an address looks like 127.0.0.1:8080.');
  return text;
}

/** Quotes a word for a shell. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
