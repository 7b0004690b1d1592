// What a start does with its two addresses, and with the HTTP server that it is to use.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../../bench/free-port.ts';
import { server } from '../../unit/http/differences.ts';
import { Gateway, refusedStart, startGateway } from './gateway.ts';
import { echo } from './sources.ts';

/** An address of this machine on which no other test listens, so that nobody takes the free port meanwhile. */
const ownHost = '127.0.0.2';

/** Calls /healthz on the port again and again, whether or not anything listens there. `answers` has what was received. */
function ask(port: number): { readonly answers: string[]; stop(): void } {
  const answers: string[] = [];
  let isOver = false;
  let socket: Socket;
  const once = () => {
    if (isOver) return;
    socket = connect(port, ownHost, () => socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'));
    socket.on('data', data => answers.push(data.toString('latin1')));
    socket.on('error', () => {});
    socket.on('close', () => setImmediate(once));
  };
  once();
  return {
    answers,
    stop() {
      isOver = true;
      socket.destroy();
    },
  };
}

test.each(['api', 'webhooks'] as const)(
  'with the address of %s taken it ends with 75, and answers nobody',
  async section => {
    const holder = createServer();
    await new Promise<void>(listening => holder.listen(0, '127.0.0.1', () => listening()));
    onTestFinished(() => void holder.close());
    const taken = { listen: `127.0.0.1:${(holder.address() as AddressInfo).port}` };
    const port = await freePort();
    const free = { listen: `${ownHost}:${port}` };
    const asking = ask(port);
    onTestFinished(() => asking.stop());
    const settings = section === 'api' ? { api: taken, webhooks: free } : { api: free, webhooks: taken };
    const { status, said } = await refusedStart({ plugins: { echo }, ...settings });
    expect([status, asking.answers]).toEqual([75, []]);
    expect(said).toContain(`${section}.listen: cannot listen on ${taken.listen}`);
  },
);

test('the line of a start names the server in use', async () => {
  const { log } = await startGateway({ plugins: { echo } });
  expect(log.find(({ msg }) => msg === 'ready')).toMatchObject({ server });
});

/** Makes the binary of uWebSockets.js fail to load, as with an older glibc. */
const refusing = `
import Module from 'node:module';
const load = Module._load;
Module._load = (name, ...more) => {
  if (/uws_.*[.]node$/.test(name)) throw new Error('GLIBC_2.38 not found');
  return load(name, ...more);
};
`;
const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(refusing)}` };

// These tests set `api.server` themselves, so they need not also run in the test run for the other server.
describe.runIf(server === 'uws')('another server than asked for', () => {
  test('where uWebSockets.js cannot be loaded, auto is node, with a line that says why', async () => {
    const gateway = await startGateway({ plugins: { echo }, api: { server: 'auto' } }, { environment });
    expect(gateway.log.find(({ msg }) => msg === 'ready')).toMatchObject({ server: 'node' });
    const warnings = gateway.log.filter(({ msg = '' }) => msg.includes('uWebSockets.js cannot be loaded'));
    expect(warnings).toMatchObject([{ level: 40, reason: expect.stringContaining('GLIBC_2.38 not found') }]);
    expect((await gateway.finished('echo/handle', { a: 1 })).status).toBe('succeeded');
  });

  test('where it cannot be loaded, uws is an error that names the way out', async () => {
    const { status, said } = await refusedStart({ plugins: { echo }, api: { server: 'uws' } }, { environment });
    expect(status).toBe(78);
    expect(said).toContain('set api.server: node');
    expect(said).toContain('GLIBC_2.38 not found');
  });

  test('another server is kept for the next start', async () => {
    const settings = { plugins: { echo }, api: { server: 'uws' } };
    const gateway = new Gateway(settings);
    onTestFinished(() => gateway.discard());
    await gateway.start();
    expect(await gateway.reload({ ...settings, api: { server: 'node' } })).toContain('api.server');
  });
});
