// The sweep finds a secret in each kind of place and in each form; it reports the name of the secret, not its value.
import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { headgate } from '../../feature/cli/headgate.ts';
import { openRaw } from '../../feature/events/reader.ts';
import { VaultGateway } from '../../feature/vault/service.ts';
import { fc } from '../../support/seed.ts';
import { everythingToken } from '../gateway/configuration.ts';
import { Gateway } from '../gateway/gateway.ts';
import { until } from '../gateway/until.ts';
import { canary, watch } from './canary.ts';
import { sweepBytes } from './sweep.ts';

const nasty = `"/+ü\n%${canary('nasty').slice(0, 20)}`;
watch('nasty', nasty);
const raw = createHash('sha256').update(nasty).digest();
watch('raw', raw);

const forms: readonly (readonly [form: string, write: (text: string) => string | Buffer])[] = [
  ['plain', text => text],
  ['hex', text => Buffer.from(text).toString('hex')],
  ['hex', text => Buffer.from(text).toString('hex').toUpperCase()],
  ['base64', text => Buffer.from(text).toString('base64')],
  ['base64url', text => Buffer.from(text).toString('base64url')],
  ['JSON', text => JSON.stringify({ text })],
  ['URL', text => encodeURIComponent(text)],
  ['URL', text => String(new URLSearchParams({ text }))],
];

test.each(forms)('a secret is found as %s, whatever stands before and behind it', (form, write) => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (before, behind) => {
      const found = sweepBytes('here', write(`${before}${nasty}${behind}`));
      // base64 and base64url can be the same text; then the form is called base64.
      const told = new RegExp(`^here, byte \\d+: nasty \\((${form}|base64)\\)$`);
      expect(found).toEqual([expect.stringMatching(told)]);
      expect(sweepBytes('here', write(before + behind))).toEqual([]);
    }),
  );
});

test('a key is found among bytes, also where it was cut, and as the numbers of a list', () => {
  const bytes = Buffer.concat([Buffer.from('before'), raw.subarray(0, 24)]);
  expect(sweepBytes('here', bytes)).toEqual(['here, byte 6: raw (plain)']);
  expect(sweepBytes('here', JSON.stringify([1, ...raw]))).toEqual(['here, byte 3: raw (numbers)']);
});

const leaky = `
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
export const handle = ({ event, secrets }) => {
  const { file, log, word, variable, error } = event.payload;
  const data = import.meta.dirname + '/../../data/';
  writeFileSync(data + 'leaked', '--' + Buffer.from(file).toString('base64'));
  writeFileSync(data + 'kept', secrets.minted);
  console.log(log);
  // cat ends with the host, whose end closes its stdin.
  spawn('cat', ['-', word], { env: { PATH: process.env.PATH, X: variable } });
  throw Object.assign(new Error(error), { retry: false });
};
`;

test('what a gateway leaves anywhere is found when it is discarded', async () => {
  const names = ['file', 'log', 'word', 'variable', 'error', 'header', 'stored'] as const;
  const planted = Object.fromEntries(names.map(name => [name, canary(name)])) as Record<(typeof names)[number], string>;
  const gateway = new Gateway({
    plugins: { leaky, echo: 'export const say = ({ payload }) => ({ result: payload });' },
  });
  onTestFinished(() => gateway.discard().catch(() => {}));
  const vault = new VaultGateway(gateway);
  await gateway.start();
  await vault.do('principal', { name: 'leaky', kind: 'plugin' });
  await vault.do('secret', { name: 'minted', pattern: 'auto', authorized_principals: ['leaky'] });
  const stream = openRaw(gateway);
  await until('the stream is open', () => stream.text.includes('\r\n\r\n'));
  const { header, stored, ...leaked } = planted;
  await gateway.call('GET', '/healthz', undefined, { headers: { 'X-Request-Id': header } });
  const job = await gateway.submit('leaky/handle', leaked);
  await until('the stream tells of the job', () => stream.text.includes(job) && stream.text.includes(leaked.error));
  await gateway.finished('echo/say', { stored });
  // The output of a plugin does not come with its outcome, and may come later.
  await until('its output is in the log', () => gateway.stderr.includes(leaked.log));
  const { message } = await gateway.discard().then(
    () => ({ message: '' }),
    (error: Error) => error,
  );
  for (const place of [
    /^data\/leaked, byte 2: file \(base64\)$/m,
    /^data\/kept, byte 0: the secret minted \(plain\)$/m,
    /^stdout and stderr, byte \d+: log \(plain\)$/m,
    /^the command line of a child, byte \d+: word \(plain\)$/m,
    /^the environment of a child, byte \d+: variable \(plain\)$/m,
    /^received, byte \d+: header \(plain\)$/m,
    /^received, byte \d+: error \(plain\)$/m,
    /^received, byte \d+: stored \(plain\)$/m,
    /^data\/data\.mdb, byte \d+: stored \(plain\)$/m,
  ])
    expect(message).toMatch(place);
  for (const value of [...Object.values(planted), everythingToken]) expect(message).not.toContain(value);
  expect(message).not.toContain('token for everything');
});

test('a command that shows a secret fails its test', async () => {
  const secret = canary('shown');
  const run = headgate(['config', 'check', '--config', `/${secret}`], {});
  await expect(run).rejects.toThrow(/^headgate config shows secrets:\n(stdout|stderr), byte \d+: shown/);
});
