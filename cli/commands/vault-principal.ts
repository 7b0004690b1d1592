// The commands `headgate vault principal …`. A principal is an identity to which secrets are granted.
import { Option } from 'commander';
import { vaultChange, vaultCommand } from '../client/vault.ts';

const kinds = ['plugin', 'consumer', 'gateway'] as const;

const principalAdd = vaultChange<{ readonly kind: string }>('/vault/principal', {
  usage: 'vault principal add <name>',
  description: 'register a principal; a plugin receives secrets under its own name',
  examples: ['headgate vault principal add greet --kind plugin'],
  options: [
    new Option('--kind <kind>', 'the kind of principal; only plugins receive secrets').choices(kinds).default('plugin'),
  ],
  body: ({ options: { kind } }) => ({ kind }),
});

type Rolled = { readonly name: string; readonly rolled: readonly string[]; readonly skipped: readonly string[] };

const principalRoll = vaultCommand({
  usage: 'vault principal roll <name>',
  description: 'give every auto secret of a principal a new value; manual secrets are skipped and listed',
  examples: ['headgate vault principal roll greet'],
  async run({ args, client, out }) {
    const form = { name: true, rolled: [], skipped: [] } as const;
    const answer = await client.post<Rolled>('/vault/principal/roll', form, { name: args[0] });
    await out.answer(answer, () => [
      ...answer.rolled.map(name => `${name} rolled`),
      ...answer.skipped.map(name => `${name} skipped: it is a manual secret`),
    ]);
    if (answer.rolled.length + answer.skipped.length === 0) out.note(`${answer.name} holds no secrets`);
  },
});

const principalRevoke = vaultChange('/vault/principal/revoke', {
  usage: 'vault principal revoke <name>',
  description: 'stop delivering secrets to a principal; its jobs fail',
  examples: ['headgate vault principal revoke greet'],
});

const principalPurge = vaultChange('/vault/principal/purge', {
  usage: 'vault principal purge <name>',
  description: 'remove a principal and its grants from every secret',
  examples: ['headgate vault principal purge greet'],
});

export const principalCommands = [principalAdd, principalRoll, principalRevoke, principalPurge];
