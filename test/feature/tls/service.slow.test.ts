// The whole service with TLS, on both servers: API and webhooks, renewal by a reload, the doctor, and the command line as its client.
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { transportNames } from '../../../http/transport/transport.ts';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken, type Settings } from '../../service/gateway/configuration.ts';
import { Gateway, refusedStart } from '../../service/gateway/gateway.ts';
import { echo } from '../../service/gateway/sources.ts';
import { certificateFile, type PairName, writePair } from './pairs.ts';
import { ended } from './programme.ts';
import { callSecurely, openSecurely } from './secure-call.ts';

const tls = { cert: './tls.crt', key: './tls.key' };
const authorization = { Authorization: `Bearer ${everythingToken}` };
const key = canary('webhook key for TLS');

function settingsOf(server: string): Settings {
  const endpoint = {
    name: 'inbox',
    path: '/webhook/inbox',
    plugin: 'echo',
    secret_ref: 'inbox',
    signature_header: 'X-Signature',
  };
  return {
    plugins: { echo },
    api: { server, tls },
    webhooks: { tls, endpoints: [endpoint] },
    tokens: [{ name: 'inbox', key }],
  };
}

async function startWith(settings: Settings, pair: PairName): Promise<Gateway> {
  const gateway = new Gateway(settings);
  onTestFinished(() => gateway.discard());
  writePair(gateway.directory, pair);
  await gateway.start();
  return gateway;
}

/** Submits a job by a POST whose body comes in a packet of its own; returns the status. */
async function submit(url: string): Promise<number | undefined> {
  const headers = { ...authorization, 'Content-Type': 'application/json', 'Content-Length': '15' };
  const { status } = await callSecurely({
    ...{ url, path: '/plugin/echo/handle', method: 'POST', headers },
    body: '{"payload": {}}',
  });
  return status;
}

async function checkOf(url: string, name: string) {
  const { text } = await callSecurely({ url, path: '/system/doctor', headers: authorization });
  const { checks } = JSON.parse(text) as { checks: readonly { name: string; passed: boolean; detail: string }[] };
  return checks.find(check => check.name === name)!;
}

describe.each(transportNames)('%s', server => {
  const settings = settingsOf(server);

  test('serves, and renews with a reload, without dropping an event stream', async () => {
    const gateway = await startWith(settings, 'one');
    const { url, webhooks } = gateway;
    expect([url, webhooks]).toEqual([expect.stringMatching(/^https:/), expect.stringMatching(/^https:/)]);
    const shown = async (at: string, name?: string) =>
      (await callSecurely({ url: at, ...(name && { name }) })).certificate;
    expect([await shown(url), await shown(url, 'gate.example.com'), await shown(webhooks)]).toEqual([
      'one',
      'one',
      'one',
    ]);
    const sound = await checkOf(url, 'certificates');
    expect(sound.passed).toBe(true);
    for (const name of ['api', 'webhooks'])
      expect(sound.detail).toMatch(
        new RegExp(`${name}: localhost, gate.example.com, [*].gate.example.com until 2126-`),
      );

    const stream = await openSecurely({ url, name: 'localhost', path: '/events', headers: authorization });
    stream.answer.setEncoding('utf8');
    const events = stream.answer[Symbol.asyncIterator]();
    const heard = async (wanted: string) => {
      for (let text = ''; !text.includes(wanted); text += (await events.next()).value as string);
    };
    writePair(gateway.directory, 'two');
    const said = await gateway.reload(settings);
    expect(said).toContain('certificate renewed');
    await heard('config.reloaded');
    const old = 'callers that connect by IP address get the old certificate until the next start';
    const byAddress = server === 'uws' ? 'one' : 'two';
    expect([await shown(url, 'localhost'), await shown(url, 'gate.example.com'), await shown(url)]).toEqual([
      'two',
      'two',
      byAddress,
    ]);
    expect([await shown(webhooks, 'localhost'), await shown(webhooks)]).toEqual(['two', byAddress]);
    const found = await checkOf(url, 'certificates');
    expect([found.passed, found.detail.includes(old), said.includes(old)]).toEqual(
      server === 'uws' ? [false, true, true] : [true, false, false],
    );
    expect(await submit(url)).toBe(202);
    await heard('job.completed');

    writePair(gateway.directory, 'three', 'one');
    const refused = await gateway.reload(settings);
    expect(refused).toContain(
      `api.tls.key: ${join(gateway.directory, 'tls.key')} is not the key of the certificate in`,
    );
    expect([await shown(url, 'localhost'), await shown(webhooks, 'localhost')]).toEqual(['two', 'two']);
    expect((await checkOf(url, 'config')).detail).toContain('is not the key of the certificate in');
    expect((await checkOf(url, 'plugins')).passed).toBe(true);
    stream.answer.destroy();
  });

  test('webhooks come in over TLS', async () => {
    const gateway = await startWith(settings, 'named');
    const body = '{"a":1}';
    const signature = createHmac('sha256', key).update(body).digest('hex');
    const headers = {
      'X-Signature': signature,
      'Content-Type': 'application/json',
      'Content-Length': String(body.length),
    };
    const call = {
      url: gateway.webhooks,
      name: 'gate.example.com',
      path: '/webhook/inbox',
      method: 'POST',
      headers,
      body,
    };
    expect(await callSecurely(call)).toMatchObject({ status: 202, certificate: 'gate.example.com' });
  });
});

const plain = { plugins: { echo } };

test('TLS on or off needs a restart, and says so; the certificate in force is renewed all the same', async () => {
  const settings = { ...plain, api: { server: 'node', tls } };
  const gateway = await startWith(settings, 'one');
  const kept = await gateway.reload({ ...plain, api: { server: 'node' }, webhooks: { tls } });
  expect(kept).toContain('"kept":["api.tls","webhooks.tls"]');
  expect(kept).toContain('some settings need a restart');
  expect((await callSecurely({ url: gateway.url })).certificate).toBe('one');
  expect((await fetch(`${gateway.webhooks}/healthz`)).status).toBe(200);
  writePair(gateway.directory, 'two');
  expect(await gateway.reload(settings)).toContain('"kept":[]');
  expect((await callSecurely({ url: gateway.url })).certificate).toBe('two');
});

test.each([
  ['a missing key', 'none.key', 'does not exist'],
  ['the key of another certificate', 'tls.key', 'is not the key of the certificate in'],
])('with %s it ends with 78, and says where', async (_, file, message) => {
  const gateway = new Gateway({});
  onTestFinished(() => gateway.discard());
  writePair(gateway.directory, 'one', 'two');
  const cert = join(gateway.directory, 'tls.crt');
  const { status, said } = await refusedStart({ ...plain, api: { tls: { cert, key: join(gateway.directory, file) } } });
  expect(status).toBe(78);
  expect(said).toMatch(/config[.]yaml:\d+:\d+: api[.]tls[.]key: /);
  expect(said).toContain(message);
});

test('the command line finds the service, and trusts what its certificate leads to', async () => {
  const gateway = await startWith({ ...plain, api: { tls } }, 'named');
  const left = JSON.parse(readFileSync(join(gateway.directory, 'data/api-address'), 'utf8')) as object;
  expect(left).toMatchObject({ tls: { name: 'gate.example.com' } });
  const trust = { NODE_EXTRA_CA_CERTS: certificateFile('named') };
  const config = ['--config', gateway.directory];
  const called = await ended(['plugin', 'run', 'echo', 'handle', ...config], trust);
  expect(called).toMatchObject({ status: 0 });
  // A browser compares the certificate with the host in the address.
  const { said: page } = await ended(['ui', '--no-open', ...config], trust);
  expect(page).toContain(`https://gate.example.com:${new URL(gateway.url).port}/ui#code=`);
  const strange = await ended(['status', ...config], {});
  expect(strange).toMatchObject({ status: 69, said: expect.stringContaining('set NODE_EXTRA_CA_CERTS') });
  const named = { ...trust, HEADGATE_TOKEN: everythingToken };
  const other = await ended(['status', '--url', gateway.url], named);
  expect(other).toMatchObject({ status: 69, said: expect.stringContaining('--url https://HOST:PORT') });
});

test('the command line learns the name in a renewed certificate', async () => {
  const settings = { ...plain, api: { tls } };
  const gateway = await startWith(settings, 'one');
  writePair(gateway.directory, 'named');
  await gateway.reload(settings);
  const trust = { NODE_EXTRA_CA_CERTS: certificateFile('named') };
  expect(await ended(['status', '--config', gateway.directory], trust)).toMatchObject({ status: 0 });
});

test('--url names a service with https', async () => {
  const gateway = await startWith({ ...plain, api: { tls } }, 'one');
  const environment = { NODE_EXTRA_CA_CERTS: certificateFile('one'), HEADGATE_TOKEN: everythingToken };
  expect(await ended(['status', '--url', gateway.url.replace('127.0.0.1', 'localhost')], environment)).toMatchObject({
    status: 0,
  });
});
