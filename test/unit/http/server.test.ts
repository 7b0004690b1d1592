// The server itself: starting, stopping, and handlers that misbehave.
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { BodyRoom } from '../../../http/body.ts';
import { Exchange } from '../../../http/exchange.ts';
import { type HttpCall, json, open, type Route, route } from '../../../http/route.ts';
import { makeRouteTable } from '../../../http/route-table.ts';
import { makeRouter } from '../../../http/router.ts';
import { bindHere } from './differences.ts';
import { type Gateway, startGateway } from './gateway.ts';

let gateways: Gateway[] = [];
afterEach(() => {
  for (const { server } of gateways) server.close();
  gateways = [];
});
async function start(routes?: readonly Route[]): Promise<Gateway> {
  const gateway = await startGateway(routes);
  gateways.push(gateway);
  return gateway;
}

function get(path: string, handle: Route['handle']): Route {
  const rest = { section: '', summary: '', access: open, query: {}, body: null, answers: {} };
  return route({ method: 'GET', path, ...rest, find: () => null, handle });
}

describe('serve', () => {
  test('a port that is taken is refused, by name', async () => {
    const { server } = await start();
    const second = bindHere({ host: '127.0.0.1', port: server.port });
    await expect(second).rejects.toThrow(`api.listen: cannot listen on 127.0.0.1:${server.port}`);
  });

  test('once it has stopped listening nobody new comes in, and closing twice is harmless', async () => {
    const { server, url } = await start();
    server.stopListening();
    server.stopListening();
    await expect(fetch(`${url}/healthz`)).rejects.toThrow();
    server.close();
  });

  test('closing ends requests that wait, and tells them', async () => {
    let entered = 0;
    let gone = 0;
    const gateway = await start([
      get('/wait', call => {
        call.onGone(() => gone++);
        entered++;
        return new Promise(() => {});
      }),
    ]);
    const waiting = fetch(`${gateway.url}/wait`);
    const ended = expect(waiting).rejects.toThrow();
    await expect.poll(() => entered).toBe(1);
    gateway.server.close();
    await ended;
    await expect.poll(() => gone).toBe(1);
  });

  test('a handler that throws, now or later, answers 500 and says nothing of why', async () => {
    const gateway = await start([
      get('/now', () => {
        throw new Error('secret at /srv/private');
      }),
      get('/later', async () => {
        await null;
        throw new Error('secret at /srv/private');
      }),
      get('/fine', () => json(200, '{}')),
    ]);
    for (const path of ['/now', '/later']) {
      const answer = await fetch(gateway.url + path);
      const text = await answer.text();
      expect([answer.status, JSON.parse(text).code]).toEqual([500, 'internal_error']);
      expect(text).not.toMatch(/secret|home|at /);
    }
    expect(gateway.faults.length).toBe(2);
    expect((await fetch(`${gateway.url}/fine`)).status).toBe(200);
  });

  test('a handler that answers after its caller has gone touches nothing', async () => {
    let finish: (() => void) | null = null as (() => void) | null;
    const gateway = await start([
      get(
        '/slow',
        () =>
          new Promise(resolve => {
            finish = () => resolve(json(200, '{}'));
          }),
      ),
    ]);
    const abort = new AbortController();
    const asked = fetch(`${gateway.url}/slow`, { signal: abort.signal });
    await expect.poll(() => finish).not.toBeNull();
    abort.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(() => gateway.lines.length).toBe(1);
    finish!();
    await new Promise(resume => setImmediate(resume));
    expect([gateway.faults, gateway.lines.map(line => line.status)]).toEqual([[], [null]]);
  });

  test('a call whose body gives way to another counts as gone at once, before it is refused', async () => {
    const { engine } = await start();
    const listener = await bindHere({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => listener.close());
    const body = '{"n":1234}';
    const room = new BodyRoom(body.length);
    const calls: HttpCall[] = [];
    const gone: boolean[] = [];
    const table = makeRouteTable([
      route({
        method: 'POST',
        path: '/batch',
        ...{ section: '', summary: '', access: open, answers: {} },
        batch: () => ({ bytesMax: body.length, setting: null }),
        handle(call) {
          calls.push(call);
          gone.push(calls[0]!.isGone);
          return new Promise(() => {});
        },
      }),
    ]);
    const shared = { engine, room, batchRoom: room, takesChunks: false, table: () => table, nowMs: Date.now } as const;
    const nextRequestId = () => 'id';
    const log = { debug: false, request() {}, refused() {}, control() {}, fault() {} };
    const context = { ...shared, log, authenticate: () => undefined, nextRequestId };
    listener.open({ begin: (response, request) => new Exchange(context, response).begin(request), nextRequestId });
    const url = `http://127.0.0.1:${listener.port}/batch`;
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body };
    const first = fetch(url, init);
    await expect.poll(() => gone).toEqual([false]);
    void fetch(url, init).catch(() => {});
    expect((await first).status).toBe(503);
    expect(gone).toEqual([false, true]);
  });

  test('headers of a problem cannot end themselves', async () => {
    const gateway = await start([
      get('/', () => ({ kind: 'problem', code: 'queue_full', detail: '', headers: [['X-A', 'a\r\nX-B: b']] })),
    ]);
    const answer = await fetch(`${gateway.url}/`);
    expect([answer.headers.get('X-A'), answer.headers.get('X-B')]).toEqual(['aX-B: b', null]);
  });
});

describe('the router', () => {
  const router = makeRouter(
    ['/', '/a', '/a/{x}', '/a/{x}/b', '/a/{x}/{y}', '/a/lit/c'].map(path => get(path, () => json(200, ''))),
  );
  const at = (path: string) => {
    const match = router.match(path);
    return typeof match === 'string' ? match : [match.place.routes.GET?.path, match.params];
  };
  test.each([
    ['/', ['/', {}]],
    ['/a', ['/a', {}]],
    ['/%61', ['/a', {}]],
    ['/a/1', ['/a/{x}', { x: '1' }]],
    ['/a/1/b', ['/a/{x}/b', { x: '1' }]],
    ['/a/1/2', ['/a/{x}/{y}', { x: '1', y: '2' }]],
    ['/a/x%2Fy', ['/a/{x}', { x: 'x/y' }]],
    ['/a/lit/c', ['/a/lit/c', {}]],
    ['/a/', 'unknown'],
    ['/a//b', 'unknown'],
    ['/A', 'unknown'],
    ['/a/1/2/3', 'unknown'],
    ['/a/%', 'malformed'],
    ['/a/%00', 'malformed'],
    ['/b/c/%e0', 'malformed'],
  ] as const)('%s', (path, found) => {
    expect(at(path)).toEqual(found);
  });

  test('two routes at one place are a mistake', () => {
    const twice = [get('/a/{x}', () => json(200, '')), get('/a/{y}', () => json(200, ''))];
    expect(() => makeRouter(twice)).toThrow('two routes');
  });

  test('two methods at one place with other names of its parameters are a mistake', () => {
    const read = get('/a/{x}', () => json(200, ''));
    expect(() => makeRouter([read, { ...read, method: 'POST', path: '/a/{y}' }])).toThrow('one path');
  });
});
