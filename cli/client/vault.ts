// Declares commands that manage the vault of the running service.
import type { CommandCall, CommandDeclaration, Declaration } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';
import { type ClientCall, clientCommand } from './connect.ts';

/**
 * Makes a client that sends the vault's admin token, because API tokens give no access to the vault. Throws if the token must not be sent
 * to the address: without it no route would answer, and the call could contain a secret.
 */
export async function connectVault({ options, io, out }: CommandCall<AddressOptions>): Promise<Client> {
  const token = io.env['SERVICE_VAULT_TOKEN'] || null;
  const refuse = (detail: string) => failure(exitStatus.denied, 'no_admin_token', 'No admin token', detail);
  if (token === null) throw refuse('set SERVICE_VAULT_TOKEN to the admin token that "headgate vault init" printed');
  const address = await findAddress(options, io, token);
  if (address.tokens.length === 0) throw refuse(address.tokenHint!);
  out.note(...address.notes);
  return new Client(address);
}

/** Declares a command whose client uses the vault's admin token. */
export function vaultCommand(declaration: Declaration<ClientCall>): CommandDeclaration {
  return clientCommand(declaration, connectVault);
}

type Change<Options extends object> = Omit<Declaration<ClientCall<Options>>, 'run'> & {
  /** Returns the fields of the request besides `name`. This function is called only after the address and the token have been found. */
  readonly body?: (call: ClientCall<Options>) => object | Promise<object>;
};

type Changed = { readonly name: string; readonly status: string };

/**
 * Declares a command that sends a POST to this path. The request changes the principal or secret that the command's argument
 * names.
 */
export function vaultChange<Options extends object = object>(
  path: string,
  { body = () => ({}), ...declaration }: Change<Options>,
): CommandDeclaration {
  const run = async (call: ClientCall<Options>): Promise<void> => {
    const request = { name: call.args[0], ...(await body(call)) };
    const answer = await call.client.post<Changed>(path, { name: true, status: true }, request);
    await call.out.answer(answer, () => [`${answer.name} ${answer.status}`]);
  };
  return clientCommand({ ...declaration, run }, connectVault);
}
