// `headgate vault init`.
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { withVault } from '../vault/work.ts';

export const vaultInit = command<{ readonly config?: string }>({
  usage: 'vault init',
  description: 'make the vault: its unlock key, and the admin token, which is printed this once',
  examples: ['headgate vault init --config .'],
  options: [configOption()],
  statuses: '0 made, 1 there is a vault or a key file already, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { initVault } = await import('../vault/init.ts');
    const { adminToken, keyFile } = await withVault(options.config, io, initVault);
    out.note(keyFile === null ? 'the unlock key is that of HEADGATE_VAULT_KEY' : `unlock key: ${keyFile}`);
    out.note('this is the admin token; it is not shown again, and clients read it from SERVICE_VAULT_TOKEN:');
    await out.answer({ admin_token: adminToken, key_file: keyFile }, () => [adminToken]);
    return exitStatus.ok;
  },
});
