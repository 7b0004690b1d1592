// A certificate and its key, as the files have them: what is accepted, and the messages for everything else.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { endsSoonMs, pemBytesMax, readCertificate } from '../../../config/certificate.ts';
import { readConfiguration } from '../../../config/reading.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { pem } from '../../feature/tls/pairs.ts';
import { loadSandbox, makeSandbox } from './sandbox.ts';

const nowMs = Date.parse('2030-01-01T00:00:00Z');

type Pem = string | Buffer;

function read(cert: Pem | null, key: Pem | null, at = nowMs, modes = { cert: 0o644, key: 0o640 }, strict = false) {
  const directory = makeSandbox({});
  const files = { cert: join(directory, 'c'), key: join(directory, 'k') };
  for (const file of ['cert', 'key'] as const) {
    const content = { cert, key }[file];
    if (content === null) continue;
    writeFileSync(files[file], content);
    chmodSync(files[file], modes[file]);
  }
  const { certificate, problems, warnings } = readCertificate(files, diskFiles, { nowMs: at, strict });
  const tell = (all: typeof problems) =>
    all.map(({ file, message }) => `${file}: ${message.replaceAll(directory, '~')}`);
  return { certificate, problems: tell(problems), warnings: tell(warnings) };
}

describe('a sound pair', () => {
  it.each([
    ['names of subjectAltName', 'one', ['localhost', 'gate.example.com', '*.gate.example.com']],
    ['a common name where there are no others, in lower case', 'common', ['common.example.com']],
    ['no name where the common name is an address', 'address', []],
  ])('has %s', (_, name, names) => {
    const { certificate, problems, warnings } = read(pem(`${name}.crt`), pem(`${name}.key`));
    expect([problems, warnings]).toEqual([[], []]);
    expect(certificate).toEqual({
      chain: pem(`${name}.crt`),
      key: pem(`${name}.key`),
      names,
      endsAtMs: expect.any(Number),
    });
    expect(certificate!.endsAtMs).toBeGreaterThan(nowMs + endsSoonMs);
  });

  it('may have a chain behind it, and text between', () => {
    const chain = `of the service\n${pem('one.crt')}\nof the authority\n${pem('two.crt')}`;
    expect(read(chain, pem('one.key')).problems).toEqual([]);
  });
});

describe('a pair that is refused', () => {
  const [cert, key] = [pem('one.crt'), pem('one.key')];
  it.each<[string, Pem | null, Pem | null, string[]]>([
    [
      'neither file',
      null,
      null,
      [
        'cert: ~/c does not exist, or its directory cannot be entered',
        'key: ~/k does not exist, or its directory cannot be entered',
      ],
    ],
    ['an empty certificate', '', key, ['cert: ~/c contains no PEM certificate (-----BEGIN CERTIFICATE-----)']],
    ['a key in place of it', key, key, ['cert: ~/c contains no PEM certificate (-----BEGIN CERTIFICATE-----)']],
    [
      'a certificate in place of the key',
      cert,
      cert,
      ['key: ~/k contains no PEM private key (-----BEGIN PRIVATE KEY-----)'],
    ],
    [
      'a damaged certificate',
      cert.toString().replace('M', 'N'),
      key,
      ['cert: ~/c contains a certificate that cannot be parsed: number 1 of 1'],
    ],
    [
      'a damaged chain',
      `${cert}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      key,
      ['cert: ~/c contains a certificate that cannot be parsed: number 2 of 2'],
    ],
    [
      'a damaged key',
      cert,
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
      ['key: ~/k contains a private key that cannot be parsed'],
    ],
    [
      'an encrypted key',
      cert,
      pem('one.encrypted8.key'),
      ['key: ~/k is encrypted; the service needs a key without a passphrase'],
    ],
    [
      'an encrypted key of the older kind',
      cert,
      pem('one.encrypted.key'),
      ['key: ~/k is encrypted; the service needs a key without a passphrase'],
    ],
    ['the key of another certificate', cert, pem('two.key'), ['key: ~/k is not the key of the certificate in ~/c']],
    ['a key of another kind', cert, pem('common.key'), ['key: ~/k is not the key of the certificate in ~/c']],
    [
      'a chain in the wrong order',
      `${pem('two.crt')}${cert}`,
      key,
      ['cert: ~/c begins with its chain; put the certificate of the service first'],
    ],
    [
      'a file that is too large',
      Buffer.alloc(pemBytesMax + 1, ' '),
      key,
      [`cert: ~/c has ${pemBytesMax + 1} bytes; it must have at most ${pemBytesMax}`],
    ],
  ])('%s', (_, cert, key, problems) => {
    expect(read(cert, key)).toEqual({ certificate: null, problems, warnings: [] });
  });

  it('says nothing of the key', () => {
    const secret = pem('one.key').toString().split('\n')[1]!;
    const { problems } = read(pem('one.crt'), pem('one.key').toString().replace('BEGIN', 'BEGIN ENCRYPTED'));
    expect(problems).toHaveLength(1);
    expect(problems.join()).not.toContain(secret.slice(0, 8));
  });
});

it.each([
  ['before it begins', '2020-01-01T00:00:00Z', /^cert: ~\/c is not valid before 2026-11-22T/],
  ['after its end', '2200-01-01T00:00:00Z', /^cert: ~\/c expired on 2126-/],
])('%s it is served all the same, with a warning', (_, at, warning) => {
  const { certificate, warnings } = read(pem('one.crt'), pem('one.key'), Date.parse(at));
  expect(certificate).not.toBeNull();
  expect(warnings).toEqual([expect.stringMatching(warning)]);
});

describe('modes', () => {
  it.each<[string, number, number, string[]]>([
    ['of owner and group', 0o664, 0o660, []],
    [
      'a key that everyone can read',
      0o644,
      0o644,
      ['key: ~/k can be read by everyone; remove that permission (chmod o-rw)'],
    ],
    [
      'a key that everyone can write',
      0o644,
      0o602,
      ['key: ~/k can be written by everyone; remove that permission (chmod o-rw)'],
    ],
    [
      'a certificate that everyone can write',
      0o646,
      0o600,
      ['cert: ~/c can be written by everyone; remove that permission (chmod o-w)'],
    ],
  ])('%s', (_, cert, key, said) => {
    const pair = [pem('one.crt'), pem('one.key')] as const;
    expect(read(...pair, nowMs, { cert, key })).toMatchObject({ problems: [], warnings: said });
    const strict = read(...pair, nowMs, { cert, key }, true);
    expect(strict).toMatchObject({ problems: said, warnings: [] });
    expect(strict.certificate === null).toBe(said.length > 0);
  });
});

describe('in a configuration', () => {
  it('paths are relative to the file that names them', () => {
    const directory = makeSandbox({
      'config.yaml': 'include: [sub]\n',
      'sub/api.yaml': 'api:\n  behind_proxy: true\n  tls: { cert: c.pem, key: ../k.pem }\n',
      'sub/c.pem': pem('one.crt'),
      'k.pem': pem('one.key'),
    });
    chmodSync(join(directory, 'k.pem'), 0o600);
    const result = loadSandbox(directory);
    if (!result.ok) throw new Error(result.problems.join('\n'));
    const files = { cert: join(directory, 'sub/c.pem'), key: join(directory, 'k.pem') };
    expect(result.config.api).toMatchObject({ tls: files, behindProxy: true });
    expect(result.config.webhooks).not.toHaveProperty('tls');
    expect(result.certificates).toEqual({ api: expect.objectContaining({ names: expect.any(Array) }) });
    expect(JSON.stringify(result.config)).not.toContain('PRIVATE KEY');
    expect(result.config.warnings).toEqual([]);
  });

  it.each([
    [
      'a missing file',
      'tls: { cert: c.pem, key: none.pem }',
      '~/config.yaml:2:28: api.tls.key: ~/none.pem does not exist, or its directory cannot be entered',
    ],
    ['a directory', 'tls: { cert: dir, key: k.pem }', '~/config.yaml:2:16: api.tls.cert: ~/dir is not a file'],
    [
      'a wrong key',
      'tls: { cert: c.pem, key: other.pem }',
      '~/config.yaml:2:28: api.tls.key: ~/other.pem is not the key of the certificate in ~/c.pem',
    ],
    [
      'a key that everyone can read, in strict mode',
      'tls: { cert: c.pem, key: loose.pem }\nservice: { strict_mode: true }',
      '~/config.yaml:2:28: api.tls.key: ~/loose.pem can be read by everyone; remove that permission (chmod o-rw)',
    ],
    ['no key', 'tls: { cert: c.pem }', '~/config.yaml:2:8: api.tls.key: is missing; it must be the path of a PEM file'],
  ])('%s is an error with its place', (_, lines, problem) => {
    const directory = makeSandbox({
      'config.yaml': `api:\n  ${lines}`,
      'c.pem': pem('one.crt'),
      'k.pem': pem('one.key'),
      'other.pem': pem('two.key'),
      'loose.pem': pem('one.key'),
    });
    mkdirSync(join(directory, 'dir'));
    for (const name of ['k.pem', 'other.pem']) chmodSync(join(directory, name), 0o600);
    const result = loadSandbox(directory);
    expect(result.ok ? [] : result.problems).toContain(problem);
  });

  it('a key that everyone can read is a warning without strict mode', () => {
    const files = { 'config.yaml': 'api: { tls: { cert: c, key: k } }', c: pem('one.crt'), k: pem('one.key') };
    const result = loadSandbox(makeSandbox(files));
    expect(result.ok && result.config.warnings).toEqual([expect.stringContaining('can be read by everyone')]);
  });

  it('of a key with an error no warning is left, neither beside the configuration nor in it', () => {
    const files = { 'config.yaml': 'api: { tls: { cert: c, key: k } }', c: pem('one.crt'), k: pem('two.key') };
    const directory = makeSandbox(files);
    const reading = readConfiguration({ path: directory, env: {}, cwd: directory });
    if (typeof reading === 'string') throw new Error(reading);
    const { problems, warnings, config } = reading;
    expect(problems).toEqual([expect.stringContaining('is not the key of the certificate')]);
    expect([warnings, config.warnings]).toEqual([[], []]);
  });
});
