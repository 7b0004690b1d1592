// Declares commands that call the running service, and connects them with the service.
import { Option } from 'commander';
import { type CommandCall, type CommandDeclaration, configOption, type Declaration } from '../command.ts';
import { type AddressOptions, findAddress } from './address.ts';
import { Client } from './client.ts';

/** The options `--url` and `--config`, from which commander makes `{ url?: string, config?: string }`. */
export function addressOptions(): Option[] {
  return [
    new Option('--url <url>', 'the address of the service (default: HEADGATE_URL, then the configuration)'),
    configOption(),
  ];
}

export async function connect({ options, io, out }: CommandCall<AddressOptions>): Promise<Client> {
  const address = await findAddress(options, io);
  out.note(...address.notes);
  return new Client(address);
}

/** The call of a command, with a client of the service that `--url`, `HEADGATE_URL` or the configuration names. */
export type ClientCall<Options extends object = object> = CommandCall<Options> & { readonly client: Client };

/**
 * Declares a command that calls the service. The options `--url` and `--config` are added; `run` gets a client instead of the
 * values of these two options.
 */
export function clientCommand<Options extends object = object>(
  { options = [], run, ...declaration }: Declaration<ClientCall<Options>>,
  connectTo = connect,
): CommandDeclaration {
  return {
    ...declaration,
    options: [...options, ...addressOptions()],
    run: async (call: CommandCall<AddressOptions>) => {
      const client = await connectTo(call);
      const { url: _url, config: _config, ...options } = call.options;
      return run({ ...call, options: options as Options, client });
    },
  };
}
