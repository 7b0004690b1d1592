// `headgate vault list`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions } from '../client/connect.ts';
import { connectVault } from '../client/vault.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';
import { formatAt } from '../terminal/time.ts';

type Entity = { readonly name: string; readonly status: string; readonly changed_at: string };
type Listing = {
  readonly principals: readonly (Entity & { readonly kind: string })[];
  readonly secrets: readonly (Entity & {
    readonly pattern: string;
    readonly authorized_principals: readonly string[];
  })[];
  readonly damaged: { readonly principals: readonly string[]; readonly secrets: readonly string[] };
};

export const vaultList = command<AddressOptions>({
  usage: 'vault list',
  description: 'list principals and secrets with their grants, statuses and times; never a value',
  examples: ['headgate vault list', 'headgate vault list --json'],
  options: addressOptions(),
  async run(call) {
    const client = await connectVault(call);
    const listing = await client.post<Listing>(
      '/vault/list',
      {
        principals: ['name', 'kind', 'status', 'changed_at'],
        secrets: ['name', 'pattern', 'status', 'changed_at', 'authorized_principals'],
        damaged: true,
      },
      {},
    );
    await call.out.answer(listing, () => [
      ...table(
        ['principal', 'kind', 'status', 'changed'],
        listing.principals.map(({ name, kind, status, changed_at: at }) => [name, kind, status, formatAt(at)]),
      ),
      '',
      ...table(
        ['secret', 'pattern', 'status', 'changed', 'granted to'],
        listing.secrets.map(({ name, pattern, status, changed_at: at, authorized_principals: grants }) => {
          return [name, pattern, status, formatAt(at), grants.join(' ')];
        }),
      ),
    ]);
    const { principals, secrets } = listing.damaged;
    for (const name of principals)
      call.out.note(`the record of the principal ${name} does not open: register it again`);
    for (const name of secrets) call.out.note(`the record of the secret ${name} does not open: set it again`);
    return exitStatus.ok;
  },
});
