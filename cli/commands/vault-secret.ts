// The commands `headgate vault secret …`. Values of secrets come from stdin or a prompt, never from arguments.
import { Option } from 'commander';
import { vaultChange } from '../client/vault.ts';
import { usageFailure } from '../failure.ts';
import { gather } from '../quantity.ts';
import { readSecret } from '../terminal/secret.ts';

type SetOptions = {
  readonly grant?: readonly string[];
  /** True unless `--no-grants` is given. */
  readonly grants: boolean;
  readonly pattern?: 'manual' | 'auto';
  readonly keepValue?: true;
};

const secretSet = vaultChange<SetOptions>('/vault/secret', {
  usage: 'vault secret set <name>',
  description: 'create or change a secret; its value is read from stdin or from a prompt that does not echo',
  examples: [
    'headgate vault secret set smtp-password --grant mailer < password.txt',
    'headgate vault secret set signing-key --grant greet --pattern auto',
    'headgate vault secret set smtp-password --keep-value --no-grants',
  ],
  options: [
    new Option(
      '--grant <principal>',
      'deliver it to this principal; can be repeated; replaces all existing grants',
    ).argParser(gather),
    new Option('--no-grants', 'deliver it to nobody'),
    new Option('--pattern <pattern>', 'who generates its values: you (manual) or the service (auto)').choices([
      'manual',
      'auto',
    ]),
    new Option('--keep-value', 'change only the grants or the pattern'),
  ],
  async body({ options: { grant, grants, pattern, keepValue }, io }) {
    if (!grants && grant !== undefined) throw usageFailure('--grant and --no-grants exclude each other');
    const value = pattern !== 'auto' && !keepValue ? await readSecret(io, 'value') : undefined;
    return { value, authorized_principals: grants ? grant : [], pattern };
  },
});

const secretRoll = vaultChange<{ readonly auto?: true }>('/vault/secret/roll', {
  usage: 'vault secret roll <name>',
  description: 'give a secret a new value, read from stdin or a prompt; with --auto the service generates one',
  examples: [
    'headgate vault secret roll smtp-password < password.txt',
    'headgate vault secret roll signing-key --auto',
  ],
  options: [new Option('--auto', 'the secret is automatic: the service generates the value')],
  body: async ({ options: { auto }, io }) => (auto ? {} : { value: await readSecret(io, 'new value') }),
});

const secretRevoke = vaultChange('/vault/secret/revoke', {
  usage: 'vault secret revoke <name>',
  description: 'erase the value of a secret permanently; it cannot be set again',
  examples: ['headgate vault secret revoke smtp-password'],
});

export const secretCommands = [secretSet, secretRoll, secretRevoke];
