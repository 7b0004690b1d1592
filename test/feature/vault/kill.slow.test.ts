// kill -9 during writes of the vault, and while retention exports and prunes its trail: what was answered is there and audited,
// no record is lost, and everything opens.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { readTrailFiles } from '../../../cli/vault/trail-files.ts';
import { until } from '../../service/gateway/until.ts';
import { note } from './aged.ts';
import { shareVaultGateway, wholeTrail } from './service.ts';

const cycles = 2;
const writers = 4;

// The clock is set back, so that the vault is created before its oldest records.
const oldMs = Date.now() - 3 * 3_600_000;
vi.useFakeTimers({ toFake: ['Date'], now: oldMs });
const vault = shareVaultGateway({
  plugins: { worker: 'export const handle = () => ({});' },
  service: { log_level: 'info' },
  vault: { audit_retention: '1h', audit_export: './exported' },
});
vi.useRealTimers();
/** Records that are past their retention: the first kill comes while they are exported, the second while they are removed. */
const old = 30_000;
note(vault.place, old, oldMs * 1000);
const exported = join(vault.gateway.directory, 'exported');
const exportedAs = (end: string): string[] =>
  existsSync(exported) ? readdirSync(exported).filter(name => name.endsWith(end)) : [];
const phases = ['.partial', '.ndjson'] as const;

test(`${cycles} kills lose no acknowledged write, and break neither vault nor trail`, {
  timeout: 120_000,
}, async () => {
  const { gateway } = vault;
  await vault.do('principal', { name: 'worker', kind: 'plugin' });
  const acknowledged: string[] = [];

  /** Writes until the service is gone. */
  async function write(cycle: number, writer: number, onWritten: () => void): Promise<void> {
    for (let n = 0; ; n++) {
      const name = `s-${cycle}-${writer}-${n}`;
      const secret = { name, value: `value of ${name}`, authorized_principals: n % 2 === 0 ? ['worker'] : [] };
      const told = await vault.call('secret', secret).catch(() => null);
      if (told === null) return;
      expect(told.status).toBe(200);
      acknowledged.push(name);
      void gateway.submit('worker/handle').catch(() => {});
      onWritten();
    }
  }

  for (let cycle = 0; cycle < cycles; cycle++) {
    await until('retention is at work', () => exportedAs(phases[cycle]!).length > 0);
    let written = 0;
    let enough = (): void => {};
    const seen = new Promise<void>(resolve => {
      enough = resolve;
    });
    const onWritten = (): void => {
      if (++written === 7 * (cycle + 1)) enough();
    };
    const gone = Promise.all(Array.from({ length: writers }, (_, writer) => write(cycle, writer, onWritten)));
    await seen;
    await gateway.kill9();
    await gone;
    const set = new Set(
      vault
        .trail()
        .filter(({ op }) => op === 'secret.set')
        .map(({ secret }) => secret),
    );
    expect(acknowledged.filter(name => !set.has(name))).toEqual([]);
    await gateway.start();
  }
  const left = await until('all that is old was removed', () => {
    const records = vault.trail();
    return records[0]!.seq > old ? records : null;
  });
  const files = exportedAs('.ndjson').map(name => wholeTrail(readTrailFiles(vault.place, [join(exported, name)], {})));
  expect(files.map(({ broken }) => broken)).toEqual(files.map(() => null));
  const found = new Set([...files.flatMap(({ records }) => records), ...left].map(({ seq }) => seq));
  expect(Array.from({ length: left.at(-1)!.seq }, (_, i) => i + 1).filter(seq => !found.has(seq))).toEqual([]);
  expect(left.filter(({ op }) => op === 'audit.prune').map(({ actor }) => actor)).toContain('retention');
  for (const name of acknowledged.slice(-writers))
    expect(await vault.said('secret/revoke', { name })).toBe('200 revoked');
  const { body } = await gateway.call('GET', '/system/doctor');
  const checks = body['checks'] as readonly { readonly name: string; readonly passed: boolean }[];
  expect(checks.find(({ name }) => name === 'vault')).toMatchObject({ passed: true });
});
