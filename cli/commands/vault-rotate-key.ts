// The command `headgate vault rotate-key`, which gives the vault a new unlock key and a new data key.
import { randomBytes } from 'node:crypto';
import { command, configOption } from '../command.ts';
import { withVault } from '../vault/work.ts';

export const vaultRotateKey = command<{ readonly config?: string }>({
  usage: 'vault rotate-key',
  description:
    'give the vault a new unlock key and a new data key, while the service is stopped; the old key then opens nothing',
  examples: ['headgate vault rotate-key --config .'],
  options: [configOption()],
  statuses: '0 rotated, 1 the vault does not open, 75 a service is running on it, 78 configuration',
  async run({ options, io, out }) {
    const { assertOpens, rotateKey } = await import('../vault/rotate-key.ts');
    const keyFile = await withVault(options.config, io, async place => {
      const { file, variable } = place.keys;
      const unlockKey = randomBytes(32);
      if (variable !== undefined) {
        assertOpens(place);
        const said = 'the new value for HEADGATE_VAULT_KEY, in force once this command has succeeded:';
        // The key is printed before it is in force, because neither a crash nor a full disk may leave a vault whose key is lost.
        await out.keep(`${said}\n${unlockKey.toString('hex')}`);
      }
      rotateKey(place, unlockKey);
      return variable === undefined ? file : null;
    });
    await out.answer({ rotated: true, key_file: keyFile }, () => [`rotated: ${keyFile ?? 'HEADGATE_VAULT_KEY'}`]);
  },
});
