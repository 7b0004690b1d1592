// `headgate vault reset-admin-token`.
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { withVault } from '../vault/work.ts';

export const vaultResetAdminToken = command<{ readonly config?: string }>({
  usage: 'vault reset-admin-token',
  description: 'replace a lost admin token, while the service is stopped; the new one is printed this once',
  examples: ['headgate vault reset-admin-token --config .'],
  options: [configOption()],
  statuses: '0 replaced, 1 the vault does not open, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { resetAdminToken } = await import('../vault/admin-token.ts');
    const adminToken = await withVault(options.config, io, resetAdminToken);
    out.note('this is the new admin token; it is not shown again:');
    await out.answer({ admin_token: adminToken }, () => [adminToken]);
    return exitStatus.ok;
  },
});
