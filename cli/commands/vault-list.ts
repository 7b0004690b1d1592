// The command `headgate vault list`, which lists principals and secrets.
import { vaultCommand } from '../client/vault.ts';
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

export const vaultList = vaultCommand({
  usage: 'vault list',
  description: 'list principals and secrets with their grants, statuses and times; never a value',
  examples: ['headgate vault list', 'headgate vault list --json'],
  async run({ client, out }) {
    const listing = await client.post<Listing>(
      '/vault/list',
      {
        principals: ['name', 'kind', 'status', 'changed_at'],
        secrets: ['name', 'pattern', 'status', 'changed_at', 'authorized_principals'],
        damaged: true,
      },
      {},
    );
    await out.answer(listing, () => [
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
    for (const name of principals) out.note(`the record of the principal ${name} does not open: register it again`);
    for (const name of secrets) out.note(`the record of the secret ${name} does not open: set it again`);
  },
});
