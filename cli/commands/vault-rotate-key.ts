// `headgate vault rotate-key`.
import { command, configOption } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { withVault } from '../vault/work.ts';

export const vaultRotateKey = command<{ readonly config?: string }>({
  usage: 'vault rotate-key',
  description:
    'put the vault under a new unlock key and a new data key, while the service is stopped; the old key opens nothing then',
  examples: ['headgate vault rotate-key --config .'],
  options: [configOption()],
  statuses: '0 rotated, 1 the vault does not open, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { rotateKey } = await import('../vault/rotate-key.ts');
    // Said before it is in force: a crash in between must not leave a vault whose key nobody has.
    let shown: string | null = null;
    const keyFile = await withVault(options.config, io, place => {
      rotateKey(place, key => {
        shown = key;
        out.note('the new value for HEADGATE_VAULT_KEY, in force once this command has ended well:');
        out.note(key);
      });
      return shown === null ? place.keys.file : null;
    });
    await out.answer({ rotated: true, key_file: keyFile }, () => [`rotated: ${keyFile ?? 'HEADGATE_VAULT_KEY'}`]);
    return exitStatus.ok;
  },
});
