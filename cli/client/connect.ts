// The common part of commands that call the service.
import { Option } from 'commander';
import { type CommandCall, configOption } from '../command.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';

/** `{ url?: string, config?: string }`. */
export function addressOptions(): Option[] {
  return [
    new Option('--url <url>', 'the address of the service (default: HEADGATE_URL, then the configuration)'),
    configOption(),
  ];
}

export async function connect({ options, io, out }: CommandCall<AddressOptions>): Promise<Client> {
  const address = await findAddress(options, io);
  for (const line of address.notes) out.note(line);
  return new Client(address);
}
