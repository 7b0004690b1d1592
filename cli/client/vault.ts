// The common part of commands that manage the vault of the running service.
import type { CommandCall } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';

/** Calls with the admin token, since API tokens give no access to the vault. */
export async function connectVault({ options, io, out }: CommandCall<AddressOptions>): Promise<Client> {
  const token = io.env['SERVICE_VAULT_TOKEN'] || null;
  if (token === null) {
    const detail = 'set SERVICE_VAULT_TOKEN to the admin token that "headgate vault init" printed';
    throw failure(exitStatus.denied, 'no_admin_token', 'No admin token', detail);
  }
  const address = await findAddress(options, io);
  for (const line of address.notes) out.note(line);
  return new Client({ ...address, tokens: [token], tokenHint: null });
}

type Changed = { readonly name: string; readonly status: string };

/**
 * One call, which is answered with a name and a status; resolves with the exit status. If the body needs input, it is read after the
 * address and the token are known.
 */
export async function changeVault(
  path: string,
  body: object | (() => Promise<object>),
  call: CommandCall<AddressOptions>,
): Promise<number> {
  const client = await connectVault(call);
  const sent = typeof body === 'function' ? await body() : body;
  const answer = await client.post<Changed>(path, { name: true, status: true }, sent);
  await call.out.answer(answer, () => [`${answer.name} ${answer.status}`]);
  return exitStatus.ok;
}
