// What the commands that manage the running service's vault have in common.
import type { Call } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';

/** Calls with the admin token; an API token opens nothing there. */
export async function connectVault({ options, io }: Call<AddressOptions>): Promise<Client> {
  const token = io.env['SERVICE_VAULT_TOKEN'] || null;
  if (token === null) {
    const detail = 'set SERVICE_VAULT_TOKEN to the admin token that "headgate vault init" has printed';
    throw failure(exitStatus.denied, 'no_admin_token', 'No admin token', detail);
  }
  const { url } = await findAddress(options, io);
  return new Client({ url, token });
}

/** One call, answered with a name and what became of it; resolves with the exit status. */
export async function changeVault(path: string, body: object, call: Call<AddressOptions>): Promise<number> {
  const client = await connectVault(call);
  const answer = await client.post<{ readonly name: string; readonly status: string }>(path, body);
  await call.out.answer(answer, () => [`${answer.name} ${answer.status}`]);
  return exitStatus.ok;
}
