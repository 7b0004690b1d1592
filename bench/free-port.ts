// A port that nobody has, for a service that is to be found at the same address after a restart.
import { type AddressInfo, createServer } from 'node:net';

/** A port that the system chooses for the service itself cannot be taken again at once: the server library allows that for configured ports only. */
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
