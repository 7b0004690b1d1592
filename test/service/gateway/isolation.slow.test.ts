// A plugin that ends its host again and again: after the first times its jobs run in the host for isolated plugins, and other plugins go on as usual.
import { expect, test } from 'vitest';
import { endedHostsMax } from '../../../actors/job/dispatch/quarantine.ts';
import { cyclesOf } from '../../support/deep.ts';
import type { PluginSource } from './configuration.ts';
import { type Gateway, shareGateway } from './gateway.ts';
import { until } from './until.ts';

const program = (body: string) => ({
  code: `#!/bin/sh\n${body}\n`,
  entrypoint: 'run',
  runtime: 'process',
  commands: { handle: {} },
});
/** A persistent process plugin. Its body answers requests, and has the pid of its host as `host`. */
const persistent = (body: string) => ({
  code: `#!/usr/bin/env node
const host = process.ppid;
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, payload } = JSON.parse(line);
  ${body}
});
`,
  entrypoint: 'main.cjs',
  runtime: 'process',
  mode: 'persistent',
  commands: { handle: {} },
});
const answers = `process.stdout.write(JSON.stringify({ id, status: 'ok', result: { host } }) + '\\n');`;

type Kind = { readonly bad: PluginSource; readonly good: PluginSource };
const kinds: { readonly [kind: string]: Kind } = {
  threads: {
    bad: `export const handle = () => process.kill(process.pid, 'SIGKILL');`,
    good: 'export const handle = () => ({ result: { host: process.pid } });',
  },
  attempts: {
    bad: program('kill -9 $PPID; sleep 60'),
    good: program(`echo '{"status":"ok","result":{"host":'$PPID'}}'`),
  },
  persistent: { bad: persistent(`process.kill(host, 'SIGKILL');`), good: persistent(answers) },
};
const plugins = Object.fromEntries(
  Object.entries(kinds).flatMap(([kind, { bad, good }]) => [
    [`bad-${kind}`, bad],
    [`good-${kind}`, good],
  ]),
);
const instances = Object.fromEntries(
  Object.keys(kinds).map(kind => [`bad-${kind}`, { retry: { max_attempts: 2, backoff_base: '1ms' } }]),
);
const gateway = shareGateway({ plugins, instances });

const badJobs = cyclesOf({ deep: 6, quick: 4 });

function deathsOf(host: RegExp): number {
  const deaths = gateway.log.filter(({ msg }) => msg?.startsWith('the plugin host died'));
  return deaths.filter(line => host.test(String(line['host']))).length;
}

function isIsolated({ log }: Gateway, plugin: string): boolean {
  return log.some(line => line['plugin'] === plugin && line.msg?.includes('the plugin is isolated'));
}

test.each(Object.keys(kinds))('others of its kind end at their usual time: %s', async kind => {
  const shared = /^(main|persistent|programs-\d)$/;
  const deathsBefore = deathsOf(shared);
  expect(await gateway.finished(`good-${kind}/handle`)).toMatchObject({ status: 'succeeded' });
  const bad = await Promise.all(Array.from({ length: badJobs }, () => gateway.submit(`bad-${kind}/handle`)));
  await until('it is isolated', () => isIsolated(gateway, `bad-${kind}`));
  for (let n = 0; n < 4; n++) {
    expect(await gateway.finished(`good-${kind}/handle`)).toMatchObject({ status: 'succeeded', attempt: 1 });
  }
  const statuses = await Promise.all(bad.map(async id => (await gateway.job(id)).status));
  expect(statuses.filter(status => status === 'dead').length).toBeLessThan(badJobs);
  // Each attempt of a bad job ends a host; once its plugin is isolated, that is the host for isolated plugins, which the others do not share.
  for (const id of bad) expect(await gateway.settled(id)).toMatchObject({ status: 'dead', attempt: 2 });
  expect(deathsOf(shared) - deathsBefore).toBeLessThan(8);
});

test('a reload lets an isolated plugin back among the others', async () => {
  const good = 'good-threads/handle';
  const [code, mended] = [
    `export const handle = () => process.kill(process.pid, 'SIGKILL');`,
    'export const handle = () => ({ result: { host: process.pid } });',
  ];
  const settings = (handle: string) => ({
    plugins: { ...plugins, mended: `${handle}\nexport const look = () => ({ result: { host: process.pid } });` },
    instances: { ...instances, mended: { retry: { max_attempts: endedHostsMax } } },
  });
  await gateway.reload(settings(code));
  expect(await gateway.finished('mended/handle')).toMatchObject({ status: 'dead', attempt: endedHostsMax });
  await until('it is isolated', () => isIsolated(gateway, 'mended'));
  const hostOf = async (command: string) => (await gateway.finished(command)).result!.result;
  expect(await hostOf('mended/look')).not.toEqual(await hostOf(good));
  await gateway.reload(settings(mended));
  expect(await hostOf('mended/handle')).toEqual(await hostOf(good));
});
