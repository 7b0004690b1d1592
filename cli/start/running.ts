// The address of the API of a running service, which the service writes to its state directory for clients.
//
// Clients need this file where the configuration is not enough: port 0, an environment variable that only the service has, or a file
// changed since the start. The file is never removed. It is valid as long as the process that wrote it lives.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ListenAddress } from '../../config/config.ts';
import { replaceFile } from '../../runtime/durable-file.ts';
import { identify, isAlive, type ProcessIdentity } from '../../runtime/processes/identity.ts';

/** The address of an API, and whether it uses TLS. */
export type ServiceAddress = ListenAddress & {
  /**
   * Present if the API uses HTTPS. `name` is the first host name without a wildcard in the certificate; absent if the certificate has no
   * such name.
   */
  readonly tls?: { readonly name?: string };
};

type RunningService = ServiceAddress & { readonly process: ProcessIdentity };

const addressFile = 'api-address';

/** Writes the address of this process to the state directory. Throws system errors. */
export function leaveAddress(statePath: string, address: ServiceAddress): void {
  const running: RunningService = { ...address, process: identify(process.pid) };
  replaceFile(join(statePath, addressFile), Buffer.from(`${JSON.stringify(running)}\n`), 0o600);
}

/**
 * Reads the address of the service that runs on a state directory. Null if no service with an API runs there, or if this process
 * cannot tell (another container, another user).
 */
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
