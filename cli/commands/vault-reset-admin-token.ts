// The command `headgate vault reset-admin-token`, which replaces a lost admin token.
import { command, configOption } from '../command.ts';
import { showToken, withVault } from '../vault/work.ts';

export const vaultResetAdminToken = command<{ readonly config?: string }>({
  usage: 'vault reset-admin-token',
  description: 'replace a lost admin token, while the service is stopped; the new one is printed once',
  examples: ['headgate vault reset-admin-token --config .'],
  options: [configOption()],
  statuses:
    '0 replaced, 1 the vault does not open, 74 the token could not be printed, and the old one is still in force, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { resetAdminToken } = await import('../vault/admin-token.ts');
    await withVault(options.config, io, place =>
      resetAdminToken(place, token => {
        out.note('this is the new admin token; it is not shown again:');
        return showToken(out, { admin_token: token }, token, 'the old one is still in force');
      }),
    );
  },
});
