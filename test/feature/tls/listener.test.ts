// Both HTTP servers with TLS: which certificate callers get, by name and by address, before and after renewals.
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Certificate, readCertificate } from '../../../config/certificate.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { bind, chooseTransport } from '../../../http/server.ts';
import { patternOf } from '../../../http/transport/server-names.ts';
import { CertificateFault, type ResponseTarget, transportNames } from '../../../http/transport/transport.ts';
import { makeSandbox } from '../../unit/config/sandbox.ts';
import { certificateFile, type PairName } from './pairs.ts';
import { authorities, callSecurely } from './secure-call.ts';

function pair(name: PairName): Certificate {
  const cert = certificateFile(name);
  const files = { cert, key: cert.replace('.crt', '.key') };
  return readCertificate(files, diskFiles, { nowMs: Date.now(), strict: false }).certificate!;
}

const plain = { status: 200, requestId: 'r', contentType: 'text/plain', headers: [], isOpen: false, isClosing: false };

async function listen(server: 'uws' | 'node', name: PairName) {
  const scratch = makeSandbox({});
  const { transport } = await chooseTransport(server, scratch);
  const listener = await bind(transport, { host: '127.0.0.1', port: 0 }, 'api', pair(name));
  onTestFinished(() => listener.close());
  const streams: ResponseTarget[] = [];
  listener.open({
    begin(response, request) {
      const path = request.getUrl();
      response.onAborted(() => {});
      if (path !== '/stream') response.respond(plain, path);
      else {
        response.begin(plain);
        response.write('begun');
        streams.push(response);
      }
    },
    nextRequestId: () => 'r',
  });
  const url = `https://127.0.0.1:${listener.port}`;
  const shown = async (name?: string) => {
    const { certificate, text } = await callSecurely({ url, path: '/x', ...(name && { name }) });
    expect(text).toBe('/x');
    return certificate;
  };
  return { listener, streams, shown, scratch, port: listener.port };
}

/** A connection that stays. */
async function stay(port: number, servername: string) {
  const socket = connect({ port, host: '127.0.0.1', servername, ca: authorities });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  socket.setEncoding('latin1');
  return {
    socket,
    ask(path: string) {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      return heard(socket, path === '/stream' ? 'begun' : path);
    },
  };
}

async function heard(socket: TLSSocket, end: string): Promise<string> {
  let text = '';
  while (!text.includes(end)) text += (await once(socket, 'data'))[0];
  return text;
}

describe.each(transportNames)('%s', server => {
  test('answers by every name and by address, and leaves no file behind', async () => {
    const { shown, scratch } = await listen(server, 'one');
    const all = [
      await shown(),
      await shown('localhost'),
      await shown('gate.example.com'),
      await shown('a.gate.example.com'),
    ];
    expect(all).toEqual(['one', 'one', 'one', 'one']);
    expect(readdirSync(scratch)).toEqual([]);
  });

  test('a renewal is for new connections; streams and connections of before go on, through two of them', async () => {
    const { listener, streams, shown, port } = await listen(server, 'one');
    const first = await stay(port, 'gate.example.com');
    expect(await first.ask('/stream')).toContain('begun');
    const kept = [await stay(port, 'gate.example.com'), await stay(port, 'localhost')];
    for (const next of ['two', 'three'] as const) {
      listener.renew(pair(next));
      expect([await shown('localhost'), await shown('gate.example.com'), await shown('b.gate.example.com')]).toEqual([
        ...[next, next, next],
      ]);
      expect(await shown()).toBe(server === 'uws' ? 'one' : next);
      const { newest, byAddress, namesBehind } = listener.served()!;
      expect(newest.chain).toEqual(pair(next).chain);
      expect(byAddress.chain).toEqual(pair(server === 'uws' ? 'one' : next).chain);
      expect(namesBehind).toEqual([]);
      // Connections that were opened with older certificates still reach the routes.
      for (const { ask } of kept) expect(await ask('/again')).toContain('HTTP/1.1 200');
      kept.push(await stay(port, 'gate.example.com'));
    }
    streams[0]!.write('still here');
    expect(await heard(first.socket, 'still here')).toContain('still here');
  });

  test('a pair that its library refuses changes nothing', async () => {
    const { listener, shown } = await listen(server, 'one');
    expect(() => listener.renew({ ...pair('two'), key: pair('one').key })).toThrow(CertificateFault);
    expect([await shown(), await shown('localhost'), listener.served()!.newest.chain]).toEqual([
      ...['one', 'one', pair('one').chain],
    ]);
    listener.renew(pair('two'));
    expect(await shown('localhost')).toBe('two');
  });

  test('an RSA key with a common name alone', async () => {
    const { listener, shown } = await listen(server, 'common');
    expect(await shown('common.example.com')).toBe('Common.Example.com');
    listener.renew(pair('named'));
    expect(await shown('gate.example.com')).toBe('gate.example.com');
  });

  test('what is no handshake is closed, and others are answered', async () => {
    const { shown, port, listener } = await listen(server, 'one');
    const socket = connectPlain(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'));
    await once(socket.resume(), 'close');
    expect(await shown('localhost')).toBe('one');
    const silent = connectPlain(port, '127.0.0.1');
    await once(silent, 'connect');
    expect(await shown('localhost')).toBe('one');
    listener.close();
    silent.on('error', () => {});
    await once(silent.resume(), 'close');
  });
});

test('node: what its parser refuses is answered over TLS too, first and behind other requests', async () => {
  const { port } = await listen('node', 'one');
  for (const before of [0, 1]) {
    const { socket, ask } = await stay(port, 'localhost');
    for (let i = 0; i < before; i++) await ask('/x');
    socket.write('no request at all\r\n\r\n');
    expect(await heard(socket, 'malformed_request')).toContain('HTTP/1.1 400');
  }
});

test('uws: a name whose patterns are used up is named, and keeps the certificate before', async () => {
  const { listener, shown } = await listen('uws', 'one');
  for (const next of ['two', 'three', 'one'] as const) listener.renew(pair(next));
  expect(listener.served()!.namesBehind).toEqual(['localhost']);
  expect([await shown('localhost'), await shown('gate.example.com')]).toEqual(['three', 'one']);
});

test.each([
  ['localhost', ['*', 'localhost', null]],
  ['a.b', ['*.*', '*.b', 'a.*', 'a.b', null]],
  ['*.b', ['*.*', '*.b', null]],
  ['1.2.3.4.5.6.7.8.9.10.11', [null]],
])('the patterns of %s, a renewal each', (name, patterns) => {
  expect(patterns.map((_, index) => patternOf(name, index + 1))).toEqual(patterns);
});
