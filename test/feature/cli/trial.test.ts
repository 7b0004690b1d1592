// `reload --dry-run`, `reload --refuse-held`, `config check --running` and `job show`: what they say of held jobs.
import { expect, test } from 'vitest';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { headgate } from './headgate.ts';

const callsToken = canary('token for calls');
const gateway = shareGateway({ plugins: { echo, worker }, instances: { worker: { parallelism: 1 } } });

function call(...words: string[]) {
  return headgate(words, { env: { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken } });
}

test('trials say what would be held and change nothing, and --refuse-held refuses it', async () => {
  for (const words of [
    ['reload', '--dry-run'],
    ['config', 'check', '--running'],
  ]) {
    const sound = await call(...words);
    expect([sound.status, sound.stdout]).toEqual([0, 'ok, no job would be held\n']);
  }
  const running = await gateway.submit('worker/handle', { gate: 'trial' });
  await gateway.noted('start', running);
  const queued = await gateway.submit('worker/handle', { gate: 'trial' });
  gateway.write({ plugins: { echo } });
  for (const words of [
    ['reload', '--dry-run'],
    ['config', 'check', '--running'],
  ]) {
    const found = await call(...words);
    expect([found.status, found.stdout]).toEqual([1, 'would hold 1 job of worker.handle\n']);
  }
  const refused = await call('reload', '--refuse-held');
  expect(refused.status).toBe(78);
  expect(refused.stderr).toContain('it would hold 1 job of worker.handle');

  const reloaded = await call('reload');
  expect([reloaded.status, reloaded.stdout]).toEqual([0, expect.stringContaining('held now: 1 job of worker.handle')]);
  // An answer lacks the reason if the ledger is too busy.
  const shown = await until('it says why', async () => {
    const { stdout } = await call('job', 'show', queued);
    return stdout.includes('waits') ? stdout : null;
  });
  expect(shown).toMatch(/waits +for plugin since .+: the configuration has no plugin "worker"/);
  expect((await call('doctor')).stdout).toContain('1 job of worker.handle since');

  gateway.write({ plugins: { echo }, pipelines: [{ name: 'wrong', on: 'wrong', steps: [{ uses: 'nobody' }] }] });
  const wrong = await call('reload', '--dry-run');
  expect(wrong.status).toBe(78);
  expect(wrong.stderr).toContain('nobody');
  gateway.open('trial');
});

test('a reload that leaves a plugin out warns of it, and a call of the plugin says that it is not loaded', async () => {
  const eager = { code: echo, config_keys: { required: ['must'] } };
  const tokens = [
    { name: 'test', token: everythingToken, scopes: ['*'] },
    { name: 'calls', token: callsToken, scopes: ['plugin:rw'] },
  ];
  const api = { auth: { tokens } };
  gateway.write({ plugins: { eager }, instances: { eager: { config: { must: 1 } } }, api });
  expect(await call('reload')).toMatchObject({ status: 0, stderr: '' });
  gateway.write({ plugins: { eager }, api });
  const { status, stdout, stderr } = await call('reload');
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^configuration reloaded/)]);
  expect(stderr).toMatch(/^warning: .+the plugin "eager" is not loaded until plugins\.eager\.config has must\n$/);
  expect((await call('reload', '--json')).json.warnings).toEqual([expect.stringContaining('eager')]);
  const called = async (plugin: string, token: string) =>
    (await gateway.call('POST', `/plugin/${plugin}/handle`, {}, { token })).body['detail'];
  expect(await called('eager', everythingToken)).toMatch(/^there is no plugin "eager": it is not loaded; .*doctor/);
  expect(await called('eager', callsToken)).toBe('there is no plugin "eager"');
  expect(await called('nobody', everythingToken)).toBe('there is no plugin "nobody"');
});
