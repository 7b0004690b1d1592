// `headgate vault principal …`: the identities that secrets are granted to.
import { Option } from 'commander';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions } from '../client/connect.ts';
import { changeVault, connectVault } from '../client/vault.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';

const kinds = ['plugin', 'consumer', 'gateway'] as const;

export const principalAdd = command<AddressOptions & { readonly kind: string }>({
  usage: 'vault principal add <name>',
  description: 'register a principal; a plugin receives secrets under its own name',
  examples: ['headgate vault principal add greet --kind plugin'],
  options: [
    new Option('--kind <kind>', 'the kind of principal; only plugins receive secrets').choices(kinds).default('plugin'),
    ...addressOptions(),
  ],
  run: call => changeVault('/vault/principal', { name: call.args[0], kind: call.options.kind }, call),
});

type Rolled = { readonly name: string; readonly rolled: readonly string[]; readonly skipped: readonly string[] };

export const principalRoll = command<AddressOptions>({
  usage: 'vault principal roll <name>',
  description: 'give every auto secret of a principal a new value; manual secrets are skipped and listed',
  examples: ['headgate vault principal roll greet'],
  options: addressOptions(),
  async run(call) {
    const client = await connectVault(call);
    const answer = await client.post<Rolled>(
      '/vault/principal/roll',
      { name: true, rolled: [], skipped: [] },
      { name: call.args[0] },
    );
    await call.out.answer(answer, () => [
      ...answer.rolled.map(name => `${name} rolled`),
      ...answer.skipped.map(name => `${name} skipped: it is a manual secret`),
    ]);
    if (answer.rolled.length + answer.skipped.length === 0) call.out.note(`${answer.name} holds no secrets`);
    return exitStatus.ok;
  },
});

export const principalRevoke = command<AddressOptions>({
  usage: 'vault principal revoke <name>',
  description: 'stop delivering secrets to a principal; its jobs fail',
  examples: ['headgate vault principal revoke greet'],
  options: addressOptions(),
  run: call => changeVault('/vault/principal/revoke', { name: call.args[0] }, call),
});

export const principalPurge = command<AddressOptions>({
  usage: 'vault principal purge <name>',
  description: 'remove a principal and its grants from every secret',
  examples: ['headgate vault principal purge greet'],
  options: addressOptions(),
  run: call => changeVault('/vault/principal/purge', { name: call.args[0] }, call),
});
