// Finds a free port, for a service that must have the same address after a restart.
import { type AddressInfo, createServer } from 'node:net';

/** The first start needs a configured port, too: a port that the system chose cannot be bound again immediately by the server library. */
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
