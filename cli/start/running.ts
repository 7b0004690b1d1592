// The address at which the service of a state directory listens, left there for its clients.
//
// It is needed where the configuration does not tell: port 0, a variable that only the service has, a file that was changed since
// the start. The file is never removed: it counts while the process that wrote it lives.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListenAddress } from '../../config/config.ts';
import { replaceFile } from '../../runtime/durable-file.ts';
import { identify, isAlive, type ProcessIdentity } from '../../runtime/processes/identity.ts';

/** Where the API of a service listens, and how it is called. */
export type ServiceAddress = ListenAddress & {
  /** It speaks HTTPS. `name`: a host name of its certificate; left out: it has none. */
  readonly tls?: { readonly name?: string };
};

type RunningService = ServiceAddress & { readonly process: ProcessIdentity };

export const addressFile = 'api-address';

/** Throws the error of the system. */
export function leaveAddress(statePath: string, address: ServiceAddress): void {
  const running: RunningService = { ...address, process: identify(process.pid) };
  replaceFile(join(statePath, addressFile), Buffer.from(`${JSON.stringify(running)}\n`), 0o600);
}

/** Null: no service runs there, or it cannot be asked whether one does (another container, another user). */
export function runningAddress(statePath: string): ServiceAddress | null {
  try {
    const {
      host,
      port,
      tls,
      process: writer,
    } = JSON.parse(readFileSync(join(statePath, addressFile), 'utf8')) as RunningService;
    const isAddress = typeof host === 'string' && Number.isInteger(port) && port > 0 && port < 65_536;
    return isAddress && isAlive(writer) ? { host, port, ...tlsOf(tls) } : null;
  } catch {
    return null;
  }
}

function tlsOf(tls: unknown): Pick<ServiceAddress, 'tls'> {
  if (typeof tls !== 'object' || tls === null) return {};
  const name = 'name' in tls && typeof tls.name === 'string' ? { name: tls.name } : {};
  return { tls: name };
}
