// A start with a wrong unlock key, or without the ledger that belongs to it: the backlog waits, uncharged, until the vault opens.
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { initVault } from '../../../cli/vault/init.ts';
import { canary } from '../../service/canary/canary.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { Gateway } from '../../service/gateway/gateway.ts';
import { worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { cyclesOf } from '../../support/deep.ts';
import { headgate } from '../cli/headgate.ts';
import { placeIn, VaultGateway } from './service.ts';

const backlog = 40;

test('a mistyped key costs the backlog nothing, and it goes on with the right one', async () => {
  const key = '1f'.repeat(32);
  const environment: { [name: string]: string } = { HEADGATE_VAULT_KEY: key };
  const settings = {
    plugins: { plain: 'export const handle = () => ({});', blocks: worker },
    service: { max_workers: 1 },
  };
  const gateway = new Gateway(settings, { environment });
  onTestFinished(() => gateway.discard());
  const place = placeIn(join(gateway.directory, 'data'));
  initVault({ ...place, keys: { ...place.keys, variable: key } });
  await gateway.start();
  await gateway.submit('blocks/handle', { gate: 'later' });
  await gateway.noted('start');
  const ids = await Promise.all(Array.from({ length: backlog }, () => gateway.submit('plain/handle')));
  const standing = async () => {
    const jobs = await Promise.all(ids.map(id => gateway.job(id)));
    return [...new Set(jobs.map(({ status, attempt }) => `${status} ${attempt}`))];
  };

  await gateway.kill9();
  environment['HEADGATE_VAULT_KEY'] = key.replace('1', '2');
  await gateway.start();
  ids.push(await gateway.submit('plain/handle'));
  expect(await standing()).toEqual(['queued 0']);
  expect((await gateway.call('GET', '/job-logs?plugin=plain')).body['total']).toBe(0);
  // The one that was running is held, too.
  expect((await gateway.call('GET', '/analytics/queue')).body).toMatchObject({ held_count: backlog + 2 });
  const shown = await headgate(['status'], { env: { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken } });
  expect(shown.stdout).toMatch(/^sealed +the vault does not open: until it does, no job is dispatched/);
  // `waits_for` is missing if the ledger takes long to answer.
  const waits = async () => (await gateway.call('GET', `/job/${ids[0]}`)).body['waits_for'];
  expect(await until('the job says what it waits for', waits)).toMatchObject({
    reason: 'vault',
    detail: 'the vault does not open: no job is dispatched until it does',
  });
  const said = gateway.log.find(({ msg }) => msg === 'the vault does not open: no job is dispatched');
  expect(said?.['remedy']).toContain('set HEADGATE_VAULT_KEY to the right key and restart');

  await gateway.kill9();
  environment['HEADGATE_VAULT_KEY'] = key;
  gateway.open('later');
  await gateway.start();
  expect((await gateway.call('GET', '/analytics/queue')).body).not.toHaveProperty('vault_sealed');
  for (const id of ids) await gateway.settled(id);
  expect(await standing()).toEqual(['succeeded 1']);
});

const keeper = 'export const handle = ({ secrets }) => ({ result: { names: Object.keys(secrets ?? {}) } });';

const losses: readonly [what: string, lose: (state: string) => void][] = [
  [
    'missing',
    state => ['data.mdb', 'lock.mdb', 'log'].forEach(name => void rmSync(join(state, name), { recursive: true })),
  ],
  [
    'empty',
    state => {
      rmSync(join(state, 'log'), { recursive: true });
      writeFileSync(join(state, 'data.mdb'), '');
    },
  ],
];

test.each(losses.slice(0, cyclesOf({ deep: losses.length, quick: 1 })))(
  'where the ledger is %s and the key is still there, no job runs without its secrets',
  async (_, lose) => {
    const gateway = new Gateway({ plugins: { keeper } });
    onTestFinished(() => gateway.discard());
    const vault = new VaultGateway(gateway);
    await gateway.start();
    await vault.do('principal', { name: 'keeper', kind: 'plugin' });
    await vault.do('secret', { name: 'kept', value: canary('kept'), authorized_principals: ['keeper'] });
    await gateway.term();
    lose(vault.place.statePath);
    await gateway.start();
    const id = await gateway.submit('keeper/handle');
    expect(await gateway.job(id)).toMatchObject({ status: 'queued' });
    expect(await vault.said('list', {})).toBe('503 vault_unavailable');
    const missing = `the keyring is missing, but its unlock key exists: ${vault.place.keys.file}`;
    const doctor = (await gateway.call('GET', '/system/doctor')).body['checks'] as readonly { readonly name: string }[];
    expect(doctor.find(({ name }) => name === 'vault')).toMatchObject({
      passed: false,
      detail: expect.stringContaining(missing),
    });
    expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({
      status: 'failed',
      failures: [{ invariant: 'vault_audit_is_whole', detail: expect.stringContaining(missing) }],
    });
    // Whoever takes the key away says that there is no vault.
    renameSync(vault.place.keys.file, `${vault.place.keys.file}.away`);
    expect((await gateway.call('GET', '/analytics/queue')).body).toMatchObject({ vault_sealed: true });
    await gateway.call('POST', '/system/reload');
    const unsealed = async () => !('vault_sealed' in (await gateway.call('GET', '/analytics/queue')).body);
    await until('the vault is no longer sealed', unsealed);
    expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', result: { result: { names: [] } } });
    renameSync(`${vault.place.keys.file}.away`, vault.place.keys.file);
    expect(readdirSync(vault.place.statePath)).toContain('vault.key');
  },
);
