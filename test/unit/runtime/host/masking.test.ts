// What a plugin gives back of its secrets, in either runtime and in every part, comes back as their names.
import { afterEach, expect, test } from 'vitest';
import { pluginEnvironment } from '../../../../runtime/host/client/environment.ts';
import { clearStages, Stage } from './stage.ts';

afterEach(clearStages);

const secrets = { token: 'tok-5f2a9c77d1', pem: 'line-one-of-the-key\nline-two-of-the-key' };
const values = /tok-5f2a|dG9rLTVm|746f6b2d|line-(one|two)-of/;

const workerCode = `
export function handle({ secrets, payload }, { log, span, emit }) {
  const { token, pem } = secrets;
  const b64 = Buffer.from(token).toString('base64');
  if (payload.how === 'throws') throw new Error('refused: ' + token);
  if (payload.how === 'crashes') { setTimeout(() => { throw new Error('broke: ' + token); }); return new Promise(() => {}); }
  if (payload.how === 'status') return { status: token };
  if (payload.how === 'loops') { const self = {}; self.self = self; log('info', token); return { result: self }; }
  if (payload.how === 'long') return { status: 'error', error: 'x'.repeat(64 * 1024 - 5) + token };
  log('info', 'has ' + pem);
  span('with ' + token)();
  emit({ type: 'told', payload: { [token]: encodeURIComponent(pem) } });
  console.log('printed ' + token);
  process.stdout.write('in two: tok-5f');
  process.stdout.write('2a9c77d1\\n');
  return { result: { [token]: [b64, Buffer.from(pem).toString('hex')] }, state_updates: { kept: token } };
}`;

const processCode = `#!/bin/sh
read -r request
printf 'err tok-5f2a' >&2
printf '9c77d1 line-two-of-the-key\\n' >&2
printf '%s' '{"status":"ok","result":{"tok-5f2a9c77d1":"dG9rLTVmMmE5Yzc3ZDE="},"state_updates":{"kept":"tok-5f2a9c77d1"},'
printf '%s' '"events":[{"type":"a","payload":"746F6B2D356632613963373764 tok-5f2a9c77d1"}],'
printf '%s\\n' '"spans":[{"name":"tok-5f2a9c77d1","dur_ns":1}],"logs":[{"level":"info","message":"line-one-of-the-key"}]}'
`;

test('of a worker plugin', async () => {
  const stage = new Stage().plugin('w', workerCode);
  const ended = await stage.run('w', { secrets });
  expect(ended).toMatchObject({
    verdict: 'ok',
    result: { '[SECRET:token]': ['[SECRET:token]', '[SECRET:pem]'] },
    state_updates: { kept: '[SECRET:token]' },
    events: [{ type: 'told', payload: { '[SECRET:token]': '[SECRET:pem]' } }],
    logs: [{ level: 'info', message: 'has [SECRET:pem]' }],
  });
  await stage.heard('log', /printed \[SECRET:token\]/);
  await stage.heard('log', /in two: \[SECRET:token\]/);
  expect(JSON.stringify([ended, stage.told])).not.toMatch(values);
});

test.each([
  ['throws', /^refused: \[SECRET:token\]$/],
  ['crashes', /broke: \[SECRET:token\]/],
  ['status', /^invalid response: status must be "ok" or "error", not "\[SECRET:token\]"$/],
  ['loops', /^invalid response: .*circular/],
  ['long', /x\[SECR…$/],
])('of a worker plugin that %s', async (how, error) => {
  const stage = new Stage().plugin('w', workerCode);
  const ended = await stage.run('w', { secrets, payload: { how } });
  expect(ended.verdict).toBe('error');
  expect(String(ended.error).slice(-200)).toMatch(error);
  if (how === 'throws') expect(ended.stderr).toMatch(/^Error: refused: \[SECRET:token\]\n {4}at handle \(index\.mjs:/);
  expect(JSON.stringify([ended, stage.told])).not.toMatch(values);
});

test('of a process plugin, across the chunks of its streams', async () => {
  const stage = new Stage().plugin('p', processCode);
  const ended = await stage.run('p', { secrets });
  expect(ended).toMatchObject({
    verdict: 'ok',
    result: { '[SECRET:token]': '[SECRET:token]' },
    stderr: 'err [SECRET:token] [SECRET:pem]\n',
    state_updates: { kept: '[SECRET:token]' },
    spans: [{ name: '[SECRET:token]', dur_ns: 1 }],
    logs: [{ level: 'info', message: '[SECRET:pem]' }],
  });
  expect(JSON.stringify([ended, stage.told])).not.toMatch(values);
});

/** Answers with very many texts, one of which is the first line of its secret. */
const talkative = `#!${process.execPath}
let given = '';
process.stdin.on('data', chunk => { given += chunk; }).on('end', () => {
  const [line] = JSON.parse(given).secrets.bundle.split('\\n');
  const texts = Array.from({ length: 100_000 }, (_, i) => 'a text of some length, number ' + i);
  process.stdout.write(JSON.stringify({ status: 'ok', result: { texts: [...texts, line] } }));
});
`;

test('of a process plugin with a secret of 3,000 lines, in 100,000 texts, while its host runs other jobs', async () => {
  const stage = new Stage()
    .plugin('p', talkative)
    .plugin('other', '#!/bin/sh\necho \'{"status":"ok","result":"done"}\'\n');
  const bundle = Array.from({ length: 3_000 }, (_, i) => `a line of the bundle ${i}`).join('\n');
  const [ended, other] = await Promise.all([stage.run('p', { secrets: { bundle } }), stage.run('other')]);
  expect(ended.error).toBeUndefined();
  const { texts } = ended.result as { readonly texts: readonly string[] };
  expect(texts.slice(-2)).toEqual(['a text of some length, number 99999', '[SECRET:bundle]']);
  expect(other.result).toBe('done');
});

test('of a process plugin whose answer is no JSON', async () => {
  const stage = new Stage().plugin('p', `#!/bin/sh\nread -r request\nprintf 'tok-5f2a9c77d1 is no JSON'\n`);
  const ended = await stage.run('p', { secrets });
  expect(ended).toMatchObject({ verdict: 'error', error: 'the response is not JSON (exit status 0)' });
});

test('of a process that stays, in the id of its answer, where it is cut', async () => {
  const code =
    '#!/bin/sh\nread -r request\nprintf \'%s\\n\' \'{"status":"ok","id":"tok-5f2a9c77d1 and so on tok-5f2a9c77d1"}\'\nread -r more\n';
  const stage = new Stage().plugin('p', code, { persistent: { jobsMax: null, ageMs: null, pipelined: false } });
  const ended = await stage.run('p', { secrets });
  expect(ended.error).toMatch(
    /^a line on stdout has the id "\[SECRET:token\] and so on .*, which no open request has$/,
  );
  await stage.heard('log', /a plugin process crashed/);
  expect(JSON.stringify([ended, stage.told])).not.toMatch(values);
});

test('the unlock key of the vault is in no environment of a plugin, whatever is let through', () => {
  const environment = { HEADGATE_VAULT_KEY: 'ab'.repeat(32), CITY: 'Bern', OTHER: 'x' };
  expect(pluginEnvironment(environment, ['HEADGATE_VAULT_KEY', 'CITY'])).toEqual({ CITY: 'Bern' });
});

/** Returns the first value that its thread got, in an earlier task. */
const keeping = `let kept;
exports.handle = ({ secrets }) => {
  const before = kept;
  kept ??= secrets.token;
  return { result: before ?? 'another thread' };
};`;
const common = { entrypoint: 'index.cjs' };

test.each([
  ['another value', { secrets: { token: 'tok-of-today-c1' } }],
  ['none', {}],
])('of a worker plugin that keeps a value, after it got %s', async (_, next) => {
  const stage = new Stage().plugin('w', keeping, common);
  await stage.run('w', { secrets });
  let { result } = await stage.run('w', next);
  while (result === 'another thread') ({ result } = await stage.run('w', next));
  expect(result).toBe('[SECRET:token]');
});

test('of an instance that shares the variables of its module with another one', async () => {
  const byThreads = async () => {
    const stage = new Stage(1).plugin('a', keeping, common).plugin('other', keeping, common);
    stage.plugin('b', keeping, { ...common, directory: stage.plugins[0]!.directory });
    // After these tasks both threads have loaded code, and `b` may run on the first one.
    await stage.run('a', { secrets });
    await stage.run('other');
    return (await stage.run('b')).result;
  };
  let result = await byThreads();
  while (result === 'another thread') result = await byThreads();
  expect(result).toBe('[SECRET:token]');
});

test('without secrets nothing is masked', async () => {
  const stage = new Stage().plugin('w', 'export const handle = () => ({ result: "tok-5f2a9c77d1" });');
  await stage.run('w', { secrets: { other: 'something-else' } });
  expect(await stage.run('w')).toMatchObject({ result: 'tok-5f2a9c77d1' });
});
