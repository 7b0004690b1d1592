// The command `headgate token new`, which makes an API token and its entry for the configuration.
import { InvalidArgumentError, Option } from 'commander';
import { type ApiScope, scopes } from '../../config/section/scope.ts';
import { command } from '../command.ts';

export const tokenNew = command<{ readonly name: string; readonly scope: readonly ApiScope[] }>({
  usage: 'token new <name>',
  description: 'create an API token, and print the configuration entry for it; nothing is stored',
  examples: ['headgate token new ci --scope plugin:rw --scope jobs:ro'],
  options: [
    new Option('--scope <scope>', 'a scope of the token; can be repeated')
      .choices(scopes)
      .argParser(addScope)
      .makeOptionMandatory(),
  ],
  async run({ options, args, out }) {
    const name = args[0]!;
    const { makeToken } = await import('../../service/local-token.ts');
    const token = makeToken();
    const variable = `HEADGATE_TOKEN_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
    const entry = `{ name: ${JSON.stringify(name)}, token: "\${${variable}}", scopes: ${JSON.stringify(options.scope)} }`;
    out.note(`add this under api.auth.tokens, and set ${variable} to the token where the service runs:`);
    out.note(`  - ${entry}`);
    await out.answer({ name, token, scopes: options.scope, variable, entry }, () => [token]);
  },
});

function addScope(text: string, earlier: readonly ApiScope[] = []): readonly ApiScope[] {
  const scope = scopes.find(known => known === text);
  if (!scope) throw new InvalidArgumentError(`scopes are ${scopes.join(', ')}.`);
  return [...new Set([...earlier, scope])];
}
