// `headgate vault secret …`: values come by stdin or prompt, never as arguments.
import { Option } from 'commander';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions } from '../client/connect.ts';
import { changeVault } from '../client/vault.ts';
import { command } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { readSecret } from '../terminal/secret.ts';

type SetOptions = AddressOptions & {
  readonly grant?: readonly string[];
  /** False with `--no-grants`. */
  readonly grants: boolean;
  readonly pattern?: 'manual' | 'auto';
  readonly keepValue?: true;
};

export const secretSet = command<SetOptions>({
  usage: 'vault secret set <name>',
  description: 'make or change a secret; its value is read from stdin, or asked for at a prompt that shows nothing',
  examples: [
    'headgate vault secret set smtp-password --grant mailer < password.txt',
    'headgate vault secret set signing-key --grant greet --pattern auto',
    'headgate vault secret set smtp-password --keep-value --no-grants',
  ],
  options: [
    new Option(
      '--grant <principal>',
      'deliver it to this principal; may be repeated, and replaces all grants',
    ).argParser((name: string, earlier: readonly string[] = []) => [...earlier, name]),
    new Option('--no-grants', 'deliver it to nobody'),
    new Option('--pattern <pattern>', 'who makes its values: you, or the service').choices(['manual', 'auto']),
    new Option('--keep-value', 'change grants or pattern only'),
    ...addressOptions(),
  ],
  async run(call) {
    const { grant, grants, pattern, keepValue } = call.options;
    if (!grants && grant !== undefined) throw usageFailure('--grant and --no-grants exclude one another');
    const isAsked = pattern !== 'auto' && !keepValue;
    const value = isAsked ? await readSecret(call.io, 'value') : undefined;
    const authorized = grants ? grant : [];
    const body = {
      name: call.args[0],
      ...(value !== undefined && { value }),
      ...(authorized !== undefined && { authorized_principals: authorized }),
      ...(pattern !== undefined && { pattern }),
    };
    return changeVault('/vault/secret', body, call);
  },
});

export const secretRoll = command<AddressOptions & { readonly auto?: true }>({
  usage: 'vault secret roll <name>',
  description: 'give a secret a new value, read from stdin or asked for; with --auto the service makes one',
  examples: [
    'headgate vault secret roll smtp-password < password.txt',
    'headgate vault secret roll signing-key --auto',
  ],
  options: [new Option('--auto', 'it is an auto secret: there is no value to give'), ...addressOptions()],
  async run(call) {
    const value = call.options.auto ? undefined : await readSecret(call.io, 'new value');
    return changeVault('/vault/secret/roll', { name: call.args[0], ...(value !== undefined && { value }) }, call);
  },
});

export const secretRevoke = command<AddressOptions>({
  usage: 'vault secret revoke <name>',
  description: 'clear the value of a secret for good; it cannot be set again',
  examples: ['headgate vault secret revoke smtp-password'],
  options: addressOptions(),
  run: call => changeVault('/vault/secret/revoke', { name: call.args[0] }, call),
});
