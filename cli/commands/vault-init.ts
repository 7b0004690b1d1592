// The command `headgate vault init`, which creates a vault and prints its admin token.
import { command, configOption } from '../command.ts';
import { showToken, withVault } from '../vault/work.ts';

export const vaultInit = command<{ readonly config?: string }>({
  usage: 'vault init',
  description: 'create the vault: its unlock key and the admin token, which is printed once',
  examples: ['headgate vault init --config .'],
  options: [configOption()],
  statuses:
    '0 created, 1 there is a vault or a key file already, 74 the token could not be printed, and nothing was created, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { showAndInit } = await import('../vault/init.ts');
    const { keyFile } = await withVault(options.config, io, place =>
      showAndInit(place, made => {
        out.note('this is the admin token; it is not shown again, and clients read it from SERVICE_VAULT_TOKEN:');
        const document = { admin_token: made.adminToken, key_file: made.keyFile };
        return showToken(out, document, made.adminToken, 'no vault was created');
      }),
    );
    out.note(keyFile === null ? 'the unlock key is in HEADGATE_VAULT_KEY' : `unlock key: ${keyFile}`);
    out.note('"headgate vault reset-admin-token" replaces a lost admin token');
  },
});
