// Every command that calls the service, in a case of success and one of failure: exit statuses, JSON and texts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { until } from '../../service/gateway/until.ts';
import { shareVaultGateway } from '../vault/service.ts';
import { headgate, type Surroundings } from './headgate.ts';

const hostile = 'export const handle = () => ({ result: "red \\u001b[31m alert\\nsecond line", logs: [] });';
const slow = 'export const handle = () => new Promise(() => {});';

const vault = shareVaultGateway({
  plugins: { echo, worker, failing, hostile, slow, step },
  instances: {
    slow: { timeouts: { handle: '20ms' }, retry: { max_attempts: 1 } },
    failing: { retry: { max_attempts: 2, backoff_base: '1ms' } },
  },
  pipelines: [
    {
      name: 'fan',
      description: 'Fans out.',
      on: 'fan.asked',
      input_schema: { list: 'array' },
      execution_mode: 'synchronous',
      steps: [
        { id: 'hold', uses: 'worker' },
        { id: 'each', uses: 'echo.handle', foreach: 'payload.list' },
        { id: 'all', uses: 'echo.handle', join: 'all', with: { done: true } },
      ],
    },
    {
      name: 'wide',
      on: 'wide.asked',
      steps: [
        { id: 'hold', uses: 'worker' },
        { id: 'each', uses: 'step', foreach: 'payload.list', on_error: 'continue' },
      ],
    },
    { name: 'strict', steps: [{ id: 'only', uses: 'step' }] },
  ],
  api: {
    auth: {
      tokens: [
        { name: 'test', token: everythingToken, scopes: ['*'] },
        { name: 'narrow', token: 'token-for-events-only', scopes: ['events:ro'] },
      ],
    },
  },
});

const { gateway } = vault;

const nowhere = '0198c0de-0000-7000-8000-000000000000';
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

test('status says health, queue and summary', async () => {
  const { status, json } = await call('status', '--json');
  expect(status).toBe(0);
  expect(json).toMatchObject({ url: gateway.url, health: { status: 'ok' }, queue: { max_workers: 2 } });
  expect(json.summary.stats).toHaveProperty('succeeded');
  expect((await call('status')).stdout).toMatch(/^service {2}headgate \d.+ok, up/);
});

test('status without the scope for the queue says health alone', async () => {
  const { status, json, stderr } = await callWith({ HEADGATE_TOKEN: 'token-for-events-only' }, 'status', '--json');
  expect([status, json.health.status, json.queue]).toEqual([0, 'ok', null]);
  expect(stderr).toContain('scope *');
});

test('doctor ends with 0 or 1 as the checks say', async () => {
  const { status, json } = await call('doctor', '--json');
  expect(status).toBe(json.status === 'ok' ? 0 : 1);
  expect(json.checks.map(({ name }: { name: string }) => name)).toContain('config');
  expect((await call('doctor')).stdout).toMatch(/^CHECK +RESULT +DETAIL\nconfig +passed/);
});

test('reload says what the service says', async () => {
  const { status, json } = await call('reload', '--json');
  expect([status, json]).toEqual([0, expect.objectContaining({ status: 'ok' })]);
  expect((await call('reload')).stdout).toBe('configuration reloaded\n');
});

test('plugin list and pipeline list say what can be run', async () => {
  expect((await call('plugin', 'list')).stdout).toMatch(
    /^PLUGIN +VERSION +COMMANDS +DESCRIPTION\necho +1.0.0 +handle say/,
  );
  expect((await call('plugin', 'list', '--json')).json.plugins).toHaveLength(6);
  expect((await call('pipeline', 'list')).stdout).toMatch(/\nfan +fan.asked +synchronous +30 s +Fans out\.\n/);
  expect((await call('pipeline', 'list', '--json')).json.pipelines).toMatchObject([
    { pipeline: 'fan' },
    { pipeline: 'wide' },
    { pipeline: 'strict' },
  ]);
});

test('pipeline run with a payload that breaks the input_schema says where, and starts nothing', async () => {
  const { status, stdout, stderr } = await call('pipeline', 'run', 'fan', '--payload', '{"list":7}');
  expect([status, stdout]).toEqual([2, '']);
  expect(stderr).toContain('/payload/list must be array');
});

test('the end of a run says what did not succeed inside', async () => {
  const fail = { fail: 'no paper' };
  const notes = async (pipeline: string, payload: object) =>
    (await call('pipeline', 'run', pipeline, '--payload', JSON.stringify(payload))).stderr.split('\n');
  expect(await notes('wide', { list: [{}, fail] })).toContainEqual(
    expect.stringMatching(/^job [0-9a-f-]{36} succeeded after .*s, but 1 failed of 3 inside$/),
  );
  expect(await notes('strict', fail)).toContainEqual(
    expect.stringMatching(/^job [0-9a-f-]{36} failed after .*s: 1 failed of 1 inside$/),
  );
});

test('plugin run waits, and prints the result alone on stdout', async () => {
  const { status, stdout, stderr } = await call('plugin', 'run', 'echo', 'say', '--payload', '{"a":[1]}');
  expect([status, JSON.parse(stdout)]).toEqual([0, { a: [1] }]);
  expect(stderr).toMatch(/^job [0-9a-f-]{36} succeeded after /);
});

test('plugin run takes its payload from stdin', async () => {
  const { json } = await callAs({ stdin: '{"b":2}' }, 'plugin', 'run', 'echo', 'say', '--payload', '-', '--json');
  expect(json).toMatchObject({ status: 'succeeded', result: { result: { b: 2 } } });
});

test('plugin run takes its payload from a file', async () => {
  const file = join(gateway.directory, 'payload.json');
  writeFileSync(file, JSON.stringify({ many: Array(50_000).fill('x') }));
  const { json } = await call('plugin', 'run', 'echo', 'say', '--payload', `@${file}`, '--json');
  expect([json.status, json.result.result.many.length]).toEqual(['succeeded', 50_000]);
  const absent = await call('plugin', 'run', 'echo', 'say', '--payload', `@${file}.absent`);
  expect([absent.status, absent.stderr]).toEqual([2, expect.stringContaining(`${file}.absent cannot be read`)]);
});

test('plugin run --batch and pipeline run --batch make a job of each line, and print the ids', async () => {
  const file = join(gateway.directory, 'batch.ndjson');
  writeFileSync(file, '{"n":1}\n{"n":2}\n\n');
  const { status, json } = await call('plugin', 'run', 'echo', 'say', '--batch', file, '--json');
  expect([status, json]).toEqual([0, { job_ids: [uuid, uuid], accepted: 2 }]);
  expect((await gateway.settled(json.job_ids[1])).result?.result).toEqual({ n: 2 });
  const runs = await callAs({ stdin: '{}\n{}\n{}' }, 'pipeline', 'run', 'strict', '--batch', '-');
  expect([runs.status, runs.stdout.trim().split('\n').length]).toEqual([0, 3]);
  writeFileSync(file, '{"n":1}\n\n[]\n{"n":\n');
  const refused = await call('plugin', 'run', 'echo', 'say', '--batch', file);
  expect(`${refused.status} ${refused.stderr}`).toMatch(/^2 .*:3: must be an object\n.*:4: the JSON ends/);
  expect((await call('plugin', 'run', 'echo', 'say', '--batch', file, '--async')).status).toBe(2);
});

test('plugin run --async does not wait; the same idempotency key gives the same job', async () => {
  const words = ['plugin', 'run', 'echo', 'say', '--async', '--idempotency-key', 'k-1'];
  const { status, json } = await call(...words, '--json');
  expect([status, json]).toEqual([0, { job_id: uuid, status: 'queued', plugin: 'echo', command: 'say' }]);
  expect((await call(...words)).stdout).toBe(`${json.job_id}\n`);
});

test.each([
  ['a job that fails', 1, 'failed', '{"retry":false,"message":"no such host"}', 'failing', 'no such host'],
  ['a job that is dead', 1, 'dead', '{"message":"again"}', 'failing', 'again'],
  ['a job that times out', 5, 'timed_out', '{}', 'slow', 'timed out'],
])('%s ends plugin run with %d', async (_, expected, state, payload, plugin, reason) => {
  const { status, json, stderr } = await call('plugin', 'run', plugin, 'handle', '--payload', payload, '--json');
  expect([status, json.status]).toEqual([expected, state]);
  expect(stderr).toContain(reason);
});

test('waiting no longer than --timeout ends with 5, and the job goes on', async () => {
  const words = ['plugin', 'run', 'worker', 'handle', '--payload', '{"gate":"late"}', '--timeout', '30ms', '--json'];
  const { status, json } = await call(...words);
  expect([status, json.code]).toEqual([5, 'not_settled']);
  gateway.open('late');
});

test('on a terminal a bar shows how far a run has come, and is gone when it ends', async () => {
  const onNote = (text: string) => text.includes('0/1 jobs') && gateway.open('bar');
  const words = ['pipeline', 'run', 'fan', '--payload', '{"list":[],"gate":"bar"}'];
  const { status, stderr } = await callAs({ isTerminal: true, onNote }, ...words);
  expect(status).toBe(0);
  expect(stderr).toMatch(/\[\.{30}\] 0\/1 jobs, /);
  expect(stderr).toContain('\r\u001b[2Kjob ');
});

test.each([
  [2, 'usage', ['plugin', 'run', 'echo', 'say', '--payload', '{']],
  [2, 'invalid_request', ['plugin', 'run', 'echo', 'say', '--payload', '[]']],
  [2, 'invalid_json', ['plugin', 'run', 'echo', 'say', '--payload', '{"a":1,"a":2}']],
  [2, 'invalid_json', ['plugin', 'run', 'echo', 'say', '--payload', '{"a":1e400}', '--expires', '1h']],
  [2, 'invalid_query', ['events', '--types', 'nonsense']],
  [2, 'invalid_query', ['job', 'list', '--cursor', 'nonsense']],
  [4, 'unknown_plugin', ['plugin', 'run', 'nobody', 'handle']],
  [4, 'unknown_command', ['plugin', 'run', 'echo', '..']],
  [4, 'unknown_pipeline', ['pipeline', 'run', 'a/b?c=d']],
  [4, 'unknown_job', ['job', 'show', nowhere]],
  [4, 'unknown_job', ['job', 'tree', '../jobs']],
  [4, 'unknown_job', ['job', 'watch', nowhere]],
  [4, 'unknown_plugin', ['stopwatch', 'nobody']],
])('%d with %s: %j', async (expected, code, words) => {
  const { status, json, stderr } = await call(...words, '--json');
  expect([status, json.code]).toEqual([expected, code]);
  expect(stderr).toContain(`headgate: ${json.detail}`);
});

test.each([
  ['status'],
  ['doctor'],
  ['reload'],
  ['plugin run echo say'],
  ['pipeline run fan'],
  ['job list'],
  [`job show ${nowhere}`],
  [`job tree ${nowhere}`],
  [`job timeline ${nowhere}`],
  ['job logs'],
  [`job watch ${nowhere}`],
  ['events'],
  ['stopwatch echo'],
])('%s with a wrong token ends with 3, with a service that is away with 69', async line => {
  const words = line.split(' ');
  const wrong = await callWith({ HEADGATE_TOKEN: 'wrong' }, ...words, '--json');
  const refusal = words[0] === 'status' ? 'the service refuses the token' : 'a valid bearer token is needed';
  expect([wrong.status, wrong.stderr]).toEqual([3, expect.stringContaining(refusal)]);
  const away = await call(...words, '--json', '--url', 'http://127.0.0.1:2');
  expect([away.status, away.json.code]).toEqual([69, 'unreachable']);
  expect(away.stderr).toContain('connection refused');
});

test('job list filters and pages', async () => {
  for (const a of [1, 2]) await gateway.finished('echo/say', { a });
  const { status, json, stderr } = await call('job', 'list', '--plugin', 'echo', '--limit', '1', '--json');
  expect([status, json.jobs.length]).toEqual([0, 1]);
  expect(stderr).toContain(`continue with --cursor ${json.next_cursor}`);
  const next = await call('job', 'list', '--plugin', 'echo', '--cursor', json.next_cursor);
  expect(next.stdout).toMatch(/^JOB +STATUS +WHAT +CREATED \(UTC\) +RAN\n[0-9a-f-]{36} {2}succeeded {2}echo.say/);
  expect(next.stdout).not.toContain(json.jobs[0].job_id);
});

test('job show, tree and logs tell of a run', async () => {
  const run = await gateway.ran('fan', { list: [1, 2, 3] });
  const shown = await call('job', 'show', run.job_id);
  expect(shown.stdout).toMatch(/^job +[0-9a-f-]{36}\nstatus +succeeded\nwhat +pipeline.fan\n/);
  expect((await call('job', 'show', run.job_id, '--json')).json).toEqual(await gateway.job(run.job_id));

  const [, , each] = await gateway.tree(run.job_id);
  const job = await call('job', 'show', each!.job_id);
  expect(job.stdout).toMatch(new RegExp(`\\nstep +fan.each, element 0, of the run ${run.job_id}\\n`));
  expect(job.stdout).toMatch(/\nevent +.* from .*\npayload\s+\{/);
  const large = await gateway.finished('echo/say', { text: 'x'.repeat(70_000) });
  expect((await call('job', 'show', large.job_id)).stdout).toMatch(/\npayload +more than 64 KiB: --full shows it\n/);
  const full = await call('job', 'show', large.job_id, '--full', '--json');
  expect(full.json.payload).toEqual({ text: 'x'.repeat(70_000) });

  const tree = await call('job', 'tree', run.job_id, '--siblings', '2');
  expect(tree.stdout).toMatch(/^pipeline.fan succeeded .*\n└─ worker.handle succeeded .*\n {3}├─ echo/);
  expect(tree.stdout).toMatch(/\n {3}└─ … \d more: .*\n6 jobs: 6 succeeded\n$/);
  expect((await call('job', 'tree', run.job_id, '--json')).json).toEqual(await gateway.tree(run.job_id));

  const failed = await gateway.finished('failing/handle', { retry: false, message: 'disk on fire' });
  const logs = await call('job', 'logs', failed.job_id);
  expect(logs.stdout).toMatch(/failing.handle failed attempt 1 .*\n {2}error {2}disk on fire\n/);
  expect((await call('job', 'logs', failed.job_id, '--json')).json).toMatchObject({ total: 1 });
});

test('job watch follows a run and what is below it, to its end', async () => {
  const id = await gateway.run('fan', { list: [1, 2], gate: 'watch' });
  const onNote = (text: string) => text.startsWith('listening') && gateway.open('watch');
  const { status, stdout } = await callAs({ onNote }, 'job', 'watch', id, '--json');
  const events = lines(stdout);
  expect(status).toBe(0);
  expect(events.at(-1)).toMatchObject({ type: 'job.completed', job_id: id, plugin: 'pipeline', command: 'fan' });
  const ended = events.filter(({ type }) => type === 'job.completed').map(({ plugin }) => plugin);
  expect(ended.sort()).toEqual(['echo', 'echo', 'echo', 'pipeline', 'worker']);
});

test('job watch follows a large run by its counts, and shows what fails', async () => {
  const list = Array.from({ length: 400 }, (_, k) => (k === 350 ? { fail: 'number 350' } : {}));
  const id = await gateway.run('wide', { list, gate: 'large' });
  const onNote = (text: string) => text.startsWith('listening') && gateway.open('large');
  const { status, stdout, stderr } = await callAs({ onNote, isTerminal: true }, 'job', 'watch', id);
  expect(status).toBe(0);
  expect(stderr).toContain('more than 100 jobs: from now on only failed jobs and counts are shown');
  const shown = stdout.trimEnd().split('\n');
  expect(shown.length).toBeLessThan(400);
  expect(shown.filter(line => line.includes('number 350'))).toHaveLength(1);
  expect(shown.at(-1)).toMatch(/job.completed.*pipeline.wide.*1 failed of 401 inside/);
  const all = lines((await call('job', 'watch', id, '--json')).stdout);
  expect(all).toMatchObject([{ type: 'job.completed', counts: { succeeded: 400, failed: 1 } }]);
  // `job tree` also shows the failure, after the end.
  expect((await call('job', 'tree', id)).stdout).toMatch(/^pipeline.wide succeeded .* \(1 failed of 401 inside\)/);
});

test('job watch first says how the job stands', async () => {
  const job = await gateway.call('POST', '/plugin/worker/handle', { payload: { name: 'watched', gate: 'stands' } });
  const id = String(job.body['job_id']);
  const { started_at: startedAt } = await until('it runs', async () => {
    const found = await gateway.job(id);
    return found.status === 'running' && found;
  });
  let said = '';
  const onOutput = (text: string) => {
    if (said === '') gateway.open('stands');
    said += text;
  };
  const { status, stdout } = await callAs({ onOutput }, 'job', 'watch', id, '--json');
  const about = { job_id: id, plugin: 'worker', command: 'handle' };
  expect([status, lines(stdout)]).toMatchObject([
    0,
    [
      { type: 'job.started', at: startedAt, ...about },
      { type: 'job.completed', ...about },
    ],
  ]);
});

test('job watch of a job that has ended says how, and ends as it did', async () => {
  const failed = await gateway.finished('failing/handle', { retry: false, message: 'no' });
  const { status, stdout } = await call('job', 'watch', failed.job_id, '--json');
  expect([status, lines(stdout)]).toEqual([1, [expect.objectContaining({ type: 'job.failed', error: 'no' })]]);
});

test('events prints what happens, an object a line', async () => {
  const { job_id: id } = await gateway.finished('echo/say', {});
  const words = ['events', '--after', '0', '--types', 'job.*', '--job', id, '--count', '3'];
  const { status, stdout } = await call(...words, '--json');
  const types = lines(stdout).map(({ type }) => type);
  expect([status, types]).toEqual([0, ['job.enqueued', 'job.started', 'job.completed']]);
  expect((await call(...words)).stdout).toMatch(/^\d{4}-.* {2}job.enqueued +echo.say {2}[0-9a-f-]{36}\n/);
});

test('stopwatch plots what was measured', async () => {
  await gateway.finished('echo/say', {});
  const { status, json } = await call('stopwatch', 'echo', '--since', '2h', '--subs', '--json');
  expect([status, json.plugin]).toEqual([0, 'echo']);
  expect(json.steps[0]).toMatchObject({ step: 'handle.queue', subs: [] });
  const plot = (await call('stopwatch', 'echo')).stdout;
  expect(plot).toMatch(/^echo, last 24h\n(STEP +COUNT +P50 .*\n.*█|no measurements)/s);
});

test('vault commands register, set, roll, revoke and purge', async () => {
  const said = async (line: string, stdin = '') => {
    const env = { SERVICE_VAULT_TOKEN: vault.adminToken };
    const { status, stdout, json } = await callAs({ env, stdin }, 'vault', ...line.split(' '), '--json');
    expect(stdout).not.toContain('canary');
    return [status, json.status ?? json.rolled];
  };
  expect(await said('principal add echo')).toEqual([0, 'registered']);
  expect(await said('secret set manual --grant echo', 'canary-1\n')).toEqual([0, 'set']);
  expect(await said('secret set made --grant echo --pattern auto')).toEqual([0, 'set']);
  expect(await said('secret roll manual', 'canary-2')).toEqual([0, 'rolled']);
  expect(await said('secret roll made --auto')).toEqual([0, 'rolled']);
  expect(await said('principal roll echo')).toEqual([0, ['made']]);
  expect(await said('secret revoke manual')).toEqual([0, 'revoked']);
  expect(await said('principal revoke echo')).toEqual([0, 'revoked']);
  expect(await said('principal purge echo')).toEqual([0, 'purged']);
});

test.each([
  [2, 'orphan_grant', 'secret set x --grant nobody --pattern auto'],
  [2, 'unknown_secret', 'secret revoke nothing'],
  [2, 'reserved_entity', 'principal purge core'],
])('vault: %d with %s: %s', async (expected, code, line) => {
  const env = { SERVICE_VAULT_TOKEN: vault.adminToken };
  const { status, json } = await callAs({ env }, 'vault', ...line.split(' '), '--json');
  expect([status, json.code]).toEqual([expected, code]);
});

test('the vault with a wrong admin token ends with 3', async () => {
  const env = { SERVICE_VAULT_TOKEN: everythingToken };
  const { status, json } = await callAs({ env }, 'vault', 'principal', 'add', 'x', '--json');
  expect([status, json.code]).toEqual([3, 'unauthorized']);
});

test('what plugins wrote is not obeyed by a terminal, and not changed in a pipe', async () => {
  const words = ['plugin', 'run', 'hostile', 'handle'];
  const shown = await callAs({ isTerminal: true }, ...words);
  expect(shown.stdout).toBe('red \\u001b[31m alert\nsecond line\n');
  expect(shown.stderr).toContain('\u001b[32msucceeded\u001b[0m');
  expect((await call(...words)).stdout).toBe('red \u001b[31m alert\nsecond line\n');
  const plain = await callAs({ isTerminal: true, env: { NO_COLOR: '1' } }, ...words);
  expect(plain.stderr).toMatch(/^job [0-9a-f-]{36} succeeded after/m);
});

function call(...words: string[]) {
  return callAs({}, ...words);
}

function callWith(env: Surroundings['env'], ...words: string[]) {
  return callAs({ env: env! }, ...words);
}

function callAs(surroundings: Surroundings, ...words: string[]) {
  const env = { HEADGATE_URL: gateway.url, HEADGATE_TOKEN: everythingToken, ...surroundings.env };
  return headgate(words, { ...surroundings, env });
}

function lines(text: string): { readonly [name: string]: unknown }[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line));
}
