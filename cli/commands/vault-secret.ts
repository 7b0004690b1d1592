// `headgate vault secret …`: values are read from stdin or a prompt, never from arguments.
import { Option } from 'commander';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions } from '../client/connect.ts';
import { changeVault } from '../client/vault.ts';
import { command } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { readSecret } from '../terminal/secret.ts';

type SetOptions = AddressOptions & {
  readonly grant?: readonly string[];
  /** False: `--no-grants`. */
  readonly grants: boolean;
  readonly pattern?: 'manual' | 'auto';
  readonly keepValue?: true;
};

export const secretSet = command<SetOptions>({
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
    ).argParser((name: string, earlier: readonly string[] = []) => [...earlier, name]),
    new Option('--no-grants', 'deliver it to nobody'),
    new Option('--pattern <pattern>', 'who makes its values: you (manual) or the service (auto)').choices([
      'manual',
      'auto',
    ]),
    new Option('--keep-value', 'change only the grants or the pattern'),
    ...addressOptions(),
  ],
  async run(call) {
    const { grant, grants, pattern, keepValue } = call.options;
    if (!grants && grant !== undefined) throw usageFailure('--grant and --no-grants exclude each other');
    const isAsked = pattern !== 'auto' && !keepValue;
    const authorized = grants ? grant : [];
    const body = async () => ({
      name: call.args[0],
      ...(isAsked && { value: await readSecret(call.io, 'value') }),
      ...(authorized !== undefined && { authorized_principals: authorized }),
      ...(pattern !== undefined && { pattern }),
    });
    return changeVault('/vault/secret', body, call);
  },
});

export const secretRoll = command<AddressOptions & { readonly auto?: true }>({
  usage: 'vault secret roll <name>',
  description: 'give a secret a new value, read from stdin or a prompt; with --auto the service generates one',
  examples: [
    'headgate vault secret roll smtp-password < password.txt',
    'headgate vault secret roll signing-key --auto',
  ],
  options: [new Option('--auto', 'the secret is automatic: the service generates the value'), ...addressOptions()],
  run(call) {
    const isAsked = !call.options.auto;
    const body = async () => ({
      name: call.args[0],
      ...(isAsked && { value: await readSecret(call.io, 'new value') }),
    });
    return changeVault('/vault/secret/roll', body, call);
  },
});

export const secretRevoke = command<AddressOptions>({
  usage: 'vault secret revoke <name>',
  description: 'erase the value of a secret permanently; it cannot be set again',
  examples: ['headgate vault secret revoke smtp-password'],
  options: addressOptions(),
  run: call => changeVault('/vault/secret/revoke', { name: call.args[0] }, call),
});
