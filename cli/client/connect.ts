// What the commands that call the service have in common.
import { Option } from 'commander';
import { type Call, configOption } from '../command.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';

/** `{ url?: string, config?: string }`. */
export function addressOptions(): Option[] {
  return [new Option('--url <url>', 'where the service is (else HEADGATE_URL, else as configured)'), configOption()];
}

export async function connect({ options, io }: Call<AddressOptions>): Promise<Client> {
  return new Client(await findAddress(options, io));
}
