// Secrets reach the plugins to which they are granted, at dispatch, and nobody else. A fault of the vault stops dispatch.
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { rangesHave } from '../../../actors/vault/records/job-ranges.ts';
import { type AuditFilter, type AuditLine, readAudit } from '../../../cli/vault/audit.ts';
import { shareVaultGateway, wholeTrail } from './service.ts';

const canary = `canary-${randomBytes(12).toString('hex')}`;
const tell = `
export const handle = ({ secrets = {} }, { log }) => {
  for (const value of Object.values(secrets)) { log('info', value); console.log(value); }
  return { result: secrets, state_updates: secrets, events: [{ type: 'told', payload: secrets }] };
};`;
const program = `#!/bin/sh
read -r request
echo "$request" >&2
printf '{"status":"ok","result":%s}\\n' "$request"
`;
const vault = shareVaultGateway({
  plugins: {
    worker: tell,
    other: tell,
    revoked: tell,
    program: { code: program, runtime: 'process', entrypoint: 'main.sh', commands: { handle: {} } },
  },
  instances: { twin: { uses: 'worker' }, worker: { retry: { max_attempts: 1 } } },
  pipelines: [
    { name: 'many', on: 'many', steps: [{ uses: 'worker', foreach: 'payload.items' }] },
    { name: 'hear', on: 'told', steps: [{ uses: 'other' }] },
  ],
});
const { gateway } = vault;

const isDelivery = ({ op }: AuditLine) => op === 'deliver';
const deliveries = () => vault.trail().filter(isDelivery);

test('an instance gets what its own principal is granted, and each delivery is audited', async () => {
  for (const name of ['worker', 'program']) await vault.do('principal', { name, kind: 'plugin' });
  await vault.do('principal', { name: 'other', kind: 'consumer' });
  await vault.do('secret', { name: 'one', value: canary, authorized_principals: ['worker', 'program', 'other'] });
  await vault.do('secret', { name: 'two', pattern: 'auto', authorized_principals: ['worker'] });
  const masked = { one: '[SECRET:one]', two: '[SECRET:two]' };
  const job = await gateway.finished('worker/handle');
  expect(job.result).toMatchObject({ result: masked, state_updates: masked, logs: [{}, {}] });
  // A plugin's principal has the name of the instance and the kind `plugin`: `twin` has none, and `other` is a consumer.
  for (const name of ['twin', 'other']) expect((await gateway.finished(`${name}/handle`)).result!.result).toEqual({});
  const about = { actor: 'dispatcher', principal: 'worker', secret: null, outcome: 'ok', code: null };
  expect(deliveries()).toMatchObject([{ ...about, secrets: ['one', 'two'], jobs: [job.job_id] }]);
  const found = (filter: AuditFilter) => wholeTrail(readAudit(vault.place, filter)).records.filter(isDelivery);
  expect(found({ actor: `job:${job.job_id}` })).toEqual(deliveries());
  expect(found({ secret: 'two' })).toEqual(deliveries());
  expect(found({ secret: 'three' })).toEqual([]);
});

test('each job of a fan-out is in a record, and in one more each time that it came back unstarted', async () => {
  const before = deliveries().length;
  const items = Array.from({ length: 60 }, (_, i) => i);
  const { body } = await gateway.call('POST', '/pipeline/many?async=true', { payload: { items } });
  expect((await gateway.settled(String(body['job_id']))).status).toBe('succeeded');
  const records = deliveries().slice(before);
  const tree = await gateway.tree(String(body['job_id']));
  const ids = tree.filter(({ plugin }) => plugin === 'worker').map(({ job_id }) => job_id);
  expect(ids).toHaveLength(60);
  for (const id of ids) expect(records.some(({ jobs }) => rangesHave(jobs!, id))).toBe(true);
  expect(records.length).toBeLessThan(ids.length);
});

test('a process plugin gets them on stdin', async () => {
  const { result } = await gateway.finished('program/handle');
  expect(result!.result).toMatchObject({ secrets: { one: '[SECRET:one]' }, command: 'handle' });
});

test('a revoked secret is left out, and the job runs', async () => {
  await vault.do('secret', { name: 'short-lived', value: 'a-value', authorized_principals: ['worker'] });
  await vault.do('secret/revoke', { name: 'short-lived' });
  expect(Object.keys((await gateway.finished('worker/handle')).result!.result as object)).toEqual(['one', 'two']);
});

test('the jobs of a revoked principal fail, with that reason, until it is purged', async () => {
  await vault.do('principal', { name: 'revoked', kind: 'plugin' });
  await vault.do('principal/revoke', { name: 'revoked' });
  const job = await gateway.finished('revoked/handle');
  expect(job).toMatchObject({ status: 'failed', attempt: 1 });
  expect(job.last_error).toMatch(/the principal revoked is revoked/);
  expect(deliveries().at(-1)).toMatchObject({
    outcome: 'refused',
    code: 'revoked_principal',
    secrets: [],
    jobs: [job.job_id],
  });
  await vault.do('principal/purge', { name: 'revoked' });
  expect(await gateway.finished('revoked/handle')).toMatchObject({ status: 'succeeded' });
});

test('the doctor opens the vault, and the selfcheck walks its trail', async () => {
  const { body: doctor } = await gateway.call('GET', '/system/doctor');
  expect(doctor['checks']).toContainEqual({ name: 'vault', passed: true, detail: '3 principals, 3 secrets' });
  expect((await gateway.call('GET', '/system/selfcheck')).body).toMatchObject({ status: 'ok', failures: [] });
});

test('no value and no token is in the log, the store, the configuration view or the environment of a plugin', async () => {
  await gateway.call('GET', '/config/view');
  const files = readdirSync(join(gateway.directory, 'data'), { recursive: true, encoding: 'utf8' })
    .map(name => join(gateway.directory, 'data', name))
    .filter(file => statSync(file).isFile());
  const key = readFileSync(vault.place.keys.file);
  for (const file of files) {
    const bytes = readFileSync(file);
    for (const form of [canary, Buffer.from(canary).toString('base64'), vault.adminToken]) {
      expect(bytes.includes(form), `${form} in ${file}`).toBe(false);
    }
    if (file !== vault.place.keys.file) expect(bytes.includes(key), file).toBe(false);
  }
  expect(gateway.stderr).not.toContain(canary);
  expect(gateway.stderr).not.toContain(vault.adminToken);
  expect(gateway.stderr).toContain('[SECRET:one]');
});

test('if the vault does not open, no job is dispatched, calls are 503, and a reload with the key opens it', async () => {
  const key = readFileSync(vault.place.keys.file);
  rmSync(vault.place.keys.file);
  await gateway.restart();
  expect(await vault.said('secret', {})).toBe('503 vault_unavailable');
  expect(await vault.said('nothing', {}, null)).toBe('503 vault_unavailable');
  const said = gateway.log.find(({ msg }) => msg === 'the vault does not open: no job is dispatched');
  expect(said?.['remedy']).toContain(`put the right unlock key into ${vault.place.keys.file}`);
  // A plugin without a principal waits, too, because a vault that does not open cannot say which plugins have one.
  const ids = await Promise.all(['worker', 'twin'].map(name => gateway.submit(`${name}/handle`)));
  for (const id of ids) expect(await gateway.job(id)).toMatchObject({ status: 'queued' });
  await gateway.call('POST', '/system/reload');
  expect(await vault.said('secret', {})).toBe('503 vault_unavailable');
  writeFileSync(vault.place.keys.file, key, { mode: 0o644 });
  gateway.signal('SIGHUP');
  for (const id of ids) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  expect((await gateway.job(ids[0]!)).result!.result).toEqual({ one: '[SECRET:one]', two: '[SECRET:two]' });
  expect(await vault.said('secret', {})).toBe('400 invalid_request');
  const messages = gateway.log.map(({ msg }) => msg);
  expect(messages).toContain('the vault is open: jobs continue');
  expect(messages).toContainEqual(expect.stringContaining('users other than the owner can use the unlock key'));
});
