// Memory that LMDB allocates for a page may hold freed data, even a secret. So bytes of a page without a record must be zero in the file.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

/** The C library fills what it frees with this byte, and what it hands out with its complement. */
const filling = 0x5a;

const writer = `
  const { openStore } = await import('${new URL('../../../dist/runtime/store/ledger-store.js', import.meta.url).href}');
  const store = openStore(process.argv[1]);
  const key = number => Buffer.from('key ' + number);
  for (let round = 0; round < 40; round++) {
    const batch = store.batch();
    for (let number = 0; number < 200; number++) {
      const length = number % 10 === 0 ? 10_007 : (number * 37 + round) % 300;
      if ((number + round) % 3 === 0) batch.remove('names', key(number));
      else batch.put('names', key(number), Buffer.alloc(length, 'x'));
    }
    store.commit(batch);
  }
  store.close();
`;

const withGlibc = test.runIf('glibcVersionRuntime' in (process.report.getReport() as { header: object }).header);

withGlibc('a store writes nothing that was in memory by chance', () => {
  const directory = mkdtempSync(join(tmpdir(), 'headgate-slack-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  execFileSync(process.execPath, ['--input-type=module', '-e', writer, directory], {
    env: { ...process.env, MALLOC_PERTURB_: String(filling) },
  });
  const bytes = readFileSync(join(directory, 'data.mdb'));
  expect(bytes.includes('key 7')).toBe(true);
  for (const byte of [filling, 0xff ^ filling]) expect(bytes.indexOf(Buffer.alloc(16, byte))).toBe(-1);
});
