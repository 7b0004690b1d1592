// The command `headgate whoami`, which prints the name, the scopes and the expiry of the token that the command line
// uses.
import { clientCommand } from '../client/connect.ts';
import { field } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';

type Whoami = {
  readonly name: string | null;
  readonly scopes: readonly string[];
  readonly expires_at: string | null;
};

export const whoamiCommand = clientCommand({
  usage: 'whoami',
  description: 'show the name, the scopes and the expiry of the token that is used',
  examples: ['headgate whoami', 'HEADGATE_TOKEN=… headgate whoami --json'],
  async run({ client, out }) {
    const whoami = await client.get<Whoami>('/whoami', { name: true, scopes: true, expires_at: true });
    const { name, scopes, expires_at: expiresAt } = whoami;
    await out.answer(whoami, () => [
      field('token', `${name ?? 'without a name'}, at ${client.url}`),
      field('scopes', scopes.length === 0 ? 'none' : scopes.join(' ')),
      field('expires', expiresAt === null ? 'never' : formatAt(expiresAt)),
    ]);
  },
});
