// kill -9 during writes of the vault: what was answered is there and audited, and everything opens.
import { expect, test } from 'vitest';
import { shareVaultGateway } from './service.ts';

const cycles = 2;
const writers = 4;

const vault = shareVaultGateway({
  plugins: { worker: 'export const handle = () => ({});' },
  service: { log_level: 'info' },
});

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
  for (const name of acknowledged.slice(-writers))
    expect(await vault.said('secret/revoke', { name })).toBe('200 revoked');
  const { body } = await gateway.call('GET', '/system/doctor');
  const checks = body['checks'] as readonly { readonly name: string; readonly passed: boolean }[];
  expect(checks.find(({ name }) => name === 'vault')).toMatchObject({ passed: true });
});
