// A free port, for a service that must have the same address after a restart.
import { type AddressInfo, createServer } from 'node:net';

/** The service cannot choose the port itself: the server library lets only a configured port be bound again at once. */
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
