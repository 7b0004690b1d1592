// The command `headgate vault abandon`, which sets aside a vault whose key or records are lost, and its key file.
import { Option } from 'commander';
import { command, configOption } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { withVault } from '../vault/work.ts';

export const vaultAbandon = command<{ readonly config?: string; readonly yes?: true }>({
  usage: 'vault abandon',
  description:
    'set the vault and its key file aside, while the service is stopped, if its key or records are lost; jobs then run without secrets',
  examples: ['headgate vault abandon --yes --config .'],
  options: [configOption(), new Option('--yes', 'required: no plugin gets a secret until there is a new vault')],
  statuses:
    '0 abandoned, 1 there is no vault, or its key is in HEADGATE_VAULT_KEY, 2 without --yes, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    if (!options.yes) {
      throw usageFailure('waiting jobs will run without the secrets of this vault; add --yes to set it aside');
    }
    const { abandonVault } = await import('../vault/abandon.ts');
    const { records, keyFile } = await withVault(options.config, io, abandonVault);
    await out.answer({ abandoned: true, records, key_file: keyFile }, () => [
      `records: ${records ?? 'there were none'}`,
      `unlock key: ${keyFile ?? 'there was none'}`,
    ]);
    out.note('jobs now run without secrets; headgate vault init creates a new vault');
  },
});
