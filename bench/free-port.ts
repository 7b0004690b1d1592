// Finds a free port, for a service that must have the same address after a restart.
import { type AddressInfo, createServer } from 'node:net';

/** The service cannot choose the port itself, because the server library binds only a configured port again at once. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
