// The check of the certificate files once a minute: a changed file is read once, and a problem with it is logged once.
import { appendFileSync, chmodSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { certificateCheckMs, ServedCertificates } from '../../../cli/start/certificates.ts';
import type { Certificate } from '../../../config/certificate.ts';
import type { Config } from '../../../config/config.ts';
import { CertificateFault } from '../../../http/transport/transport.ts';
import type { Logger } from '../../../runtime/log.ts';
import { loadSandbox, makeSandbox } from '../../unit/config/sandbox.ts';
import { type PairName, pem, writePair } from './pairs.ts';

function watching(pair: PairName) {
  const directory = makeSandbox({ 'config.yaml': 'api: { tls: { cert: tls.crt, key: tls.key } }' });
  writePair(directory, pair);
  const loaded = loadSandbox(directory);
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  const lines: string[] = [];
  const say = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${(text ?? String(first)).replaceAll(directory, '~')}`);
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as Logger;
  let newest = loaded.certificates.api!;
  let fault: Error | null = null;
  const certificates = new ServedCertificates(
    log,
    (): Config => loaded.config,
    () => {},
  );
  certificates.add('api', {
    served: () => ({ newest, byAddress: newest, namesBehind: [] }),
    renew(next: Certificate) {
      if (fault !== null) throw fault;
      newest = next;
    },
  });
  certificates.add('webhooks', { served: () => null, renew: () => {} });
  return {
    directory,
    certificates,
    lines: () => lines.splice(0),
    chain: () => newest.chain,
    refuse: (error: Error | null) => {
      fault = error;
    },
  };
}

test('other files are renewed, and the same ones are not', () => {
  const { directory, certificates, lines, chain } = watching('one');
  certificates.checkFiles();
  utimesSync(join(directory, 'tls.crt'), 1, 1);
  certificates.checkFiles();
  expect(lines()).toEqual([]);
  writePair(directory, 'two');
  certificates.checkFiles();
  expect([lines(), chain()]).toEqual([['info certificate renewed'], pem('two.crt')]);
  certificates.checkFiles();
  expect(lines()).toEqual([]);
});

test('a pair in the midst of its renewal is told once, and changes nothing', () => {
  const { directory, certificates, lines, chain } = watching('one');
  writePair(directory, 'two', 'one');
  certificates.checkFiles();
  const wrong =
    'error api.tls.key: ~/tls.key is not the key of the certificate in ~/tls.crt; the current certificate stays in use';
  expect([lines(), chain()]).toEqual([[wrong], pem('one.crt')]);
  certificates.checkFiles();
  expect(lines()).toEqual([]);
  writePair(directory, 'two');
  certificates.checkFiles();
  expect([lines(), chain()]).toEqual([['info certificate renewed'], pem('two.crt')]);
});

test('what the server refuses, and what everyone can read, is said', () => {
  const { directory, certificates, lines, chain, refuse } = watching('one');
  refuse(new CertificateFault('no such curve'));
  writePair(directory, 'two');
  chmodSync(join(directory, 'tls.key'), 0o604);
  certificates.checkFiles();
  expect(lines()).toEqual([
    'warn api.tls.key: ~/tls.key can be read by everyone; remove that permission (chmod o-rw)',
    'error api.tls: no such curve; the current certificate stays in use',
  ]);
  expect(chain()).toEqual(pem('one.crt'));
});

test('a disk that is full for a while ends nothing, and delays a renewal until a look after that', () => {
  const { directory, certificates, lines, chain, refuse } = watching('one');
  const full = 'error api.tls: ENOSPC: no space left on device; the current certificate stays in use';
  refuse(new Error('ENOSPC: no space left on device'));
  writePair(directory, 'two');
  certificates.checkFiles();
  certificates.checkFiles();
  expect([lines(), chain()]).toEqual([[full, full], pem('one.crt')]);
  refuse(null);
  certificates.checkFiles();
  expect([lines(), chain()]).toEqual([['info certificate renewed'], pem('two.crt')]);
});

test('the look comes by itself', () => {
  vi.useFakeTimers();
  try {
    const { directory, lines } = watching('one');
    appendFileSync(join(directory, 'tls.crt'), '\n');
    vi.advanceTimersByTime(certificateCheckMs - 1);
    expect(lines()).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(lines()).toEqual(['info certificate renewed']);
  } finally {
    vi.useRealTimers();
  }
});
