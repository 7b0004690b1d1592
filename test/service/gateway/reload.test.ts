// A new configuration while the service runs (SIGHUP): swapped in one step, or refused whole.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdirSync, openSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { shareGateway } from './gateway.ts';
import { echo, step, worker } from './sources.ts';
import { until } from './until.ts';

const gateway = shareGateway({ plugins: { echo } });

/** Waits until a job whose payload has this name has begun. */
const begun = (name: string) => until(`${name} has begun`, () => gateway.journal().some(note => note.name === name));

const answering = (word: string) => `export const handle = () => ({ result: '${word}' });`;
const two = (second: string) => ({
  name: 'two',
  on: 'two',
  steps: [
    { id: 'held', uses: 'worker' },
    { id: 'second', uses: 'step', with: { result: second } },
  ],
});

test('a reload brings new plugins, new config and new code', async () => {
  await gateway.reload({ plugins: { answering: answering('old') } });
  expect((await gateway.finished('answering/handle')).result?.result).toBe('old');
  await gateway.reload({ plugins: { answering: answering('new'), echo } });
  expect((await gateway.finished('answering/handle')).result?.result).toBe('new');
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

// An object without the plugin `constructor` still has an inherited property of this name.
test.each(['worker', 'constructor'])(
  'queued jobs of the removed plugin %s wait, calls of it get 404, and the jobs run when it is back',
  async name => {
    const present = { plugins: { [name]: worker, echo } };
    await gateway.reload({ ...present, instances: { [name]: { parallelism: 1 } } });
    const gate = `all of ${name}`;
    const running = await gateway.submit(`${name}/handle`, { gate });
    const queued = await gateway.submit(`${name}/handle`, { gate });
    await gateway.noted('start', running);
    await gateway.reload({ plugins: { echo } });
    expect((await gateway.call('POST', `/plugin/${name}/handle`)).status).toBe(404);
    gateway.open(gate);
    expect(await gateway.settled(running)).toMatchObject({ status: 'succeeded' });
    expect(await gateway.job(queued)).toMatchObject({ status: 'queued', attempt: 0 });
    await gateway.restart();
    await gateway.finished('echo/handle');
    expect(await gateway.job(queued)).toMatchObject({ status: 'queued', attempt: 0 });
    await gateway.reload(present);
    expect(await gateway.settled(queued)).toMatchObject({ status: 'succeeded', attempt: 1 });
  },
);

test('a running run keeps the definition that it began with', async () => {
  await gateway.reload({ plugins: { worker, step }, pipelines: [two('old')] });
  const before = await gateway.run('two', { gate: 'kept', name: 'kept' });
  await begun('kept');
  await gateway.reload({ plugins: { worker, step }, pipelines: [two('new')] });
  gateway.open('kept');
  expect((await gateway.settled(before)).result?.result).toBe('old');
  expect((await gateway.ran('two')).result?.result).toBe('new');
});

test('a running run of a removed pipeline goes on to its end', async () => {
  await gateway.reload({ plugins: { worker, step }, pipelines: [two('old')] });
  const run = await gateway.run('two', { gate: 'removed', name: 'removed' });
  await begun('removed');
  await gateway.reload({ plugins: { worker, step } });
  gateway.open('removed');
  expect(await gateway.settled(run)).toMatchObject({ status: 'succeeded', result: { result: 'old' } });
  expect((await gateway.call('POST', '/pipeline/two')).status).toBe(404);
});

test('a running run keeps its definition over a kill and a restart with another one', async () => {
  await gateway.reload({ plugins: { worker, step }, pipelines: [two('old')] });
  const run = await gateway.run('two', { gate: 'killed', name: 'killed' });
  await begun('killed');
  await gateway.reload({ plugins: { worker, step }, pipelines: [two('new')] });
  await gateway.restart();
  gateway.open('killed');
  expect((await gateway.settled(run)).result?.result).toBe('old');
});

test('a reload under load loses nothing and runs nothing twice', async () => {
  const settings = { plugins: { worker, echo } };
  await gateway.reload(settings);
  const ids: string[] = [];
  for (let round = 0; round < 5; round++) {
    const some = Array.from({ length: 40 }, () => gateway.submit('worker/handle'));
    await gateway.reload({ ...settings, service: { name: `round-${round}` } });
    ids.push(...(await Promise.all(some)));
  }
  for (const id of ids) expect(await gateway.settled(id)).toMatchObject({ status: 'succeeded', attempt: 1 });
  const starts = gateway.journal().filter(({ what, job }) => what === 'start' && ids.includes(job));
  expect(starts).toHaveLength(ids.length);
});

test('a wrong configuration is refused whole, and the old one stays in force', async () => {
  await gateway.reload({ plugins: { echo } });
  await gateway.reload({ plugins: { echo }, service: { max_workers: -1 }, instances: { ghost: {} } });
  for (const wrong of ['service.max_workers', 'plugins.ghost'])
    await until(`${wrong} is named`, () => gateway.stderr.includes(wrong));
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('a configuration without tokens is refused where the token for it cannot be kept', async () => {
  await gateway.reload({ plugins: { echo } });
  const file = join(gateway.directory, 'data', 'api-token');
  mkdirSync(file);
  const said = await gateway.reload({ plugins: { echo }, api: { auth: { tokens: [] } } });
  rmdirSync(file);
  expect(said).toContain('cannot write the local token or the accepted lock: EISDIR');
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('settings that need a restart are named', async () => {
  await gateway.reload({ plugins: { echo } });
  const said = await gateway.reload({ plugins: { echo }, state: { path: './elsewhere' } });
  expect(said).toContain('state.path');
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

test('a setting of the service takes effect, or is named as one that needs a restart', async () => {
  await gateway.reload({ plugins: { echo } });
  for (const setting of [{ max_workers: 3 }, { plugin_env_passthrough: ['MORE'] }]) {
    const said = await gateway.reload({ plugins: { echo }, service: setting });
    expect(said).toContain(`service.${Object.keys(setting)[0]}`);
  }
});

test('a new name of the service is in the log from then on', async () => {
  await gateway.reload({ plugins: { echo }, service: { name: 'renamed' } });
  await gateway.call('GET', '/whoami');
  const nameOf = (route: string) => gateway.log.findLast(line => line['route'] === route)?.['name'];
  await until('the request is logged', () => nameOf('/whoami') !== undefined);
  expect(nameOf('/whoami')).toBe('renamed');
});

test('a new log level is in force from then on', async () => {
  await gateway.reload({ plugins: { echo }, service: { log_level: 'info' } });
  await gateway.call('GET', '/skills');
  await gateway.reload({ plugins: { echo }, service: { log_level: 'debug' } });
  await gateway.call('GET', '/topology');
  const isLogged = (route: string) => gateway.log.some(line => line['route'] === route);
  await until('the request is logged', () => isLogged('/topology'));
  expect(isLogged('/skills')).toBe(false);
});

/**
 * Makes the lock file a pipe that nobody writes to, so that each load of the configuration stops there. The returned function waits until a
 * load has stopped, calls `act`, and then lets that load continue.
 */
function stoppingLoads(): <T>(act: () => Promise<T>) => Promise<T> {
  const lock = join(gateway.directory, '.headgate.lock');
  execFileSync('mkfifo', [lock]);
  onTestFinished(() => rmSync(lock));
  const opened = () => {
    try {
      // Without a reader, the system refuses to open a pipe for writing.
      return { pipe: openSync(lock, constants.O_WRONLY | constants.O_NONBLOCK) };
    } catch {
      return null;
    }
  };
  return async act => {
    const { pipe } = await until('a load has stopped', opened);
    return act().finally(() => closeSync(pipe));
  };
}

test.each(['', '?dry_run=true'])(
  'while a reload%s reads the configuration, calls are answered and jobs run',
  async query => {
    await gateway.reload({ plugins: { echo } });
    const whileStopped = stoppingLoads();
    const answers: string[] = [];
    const reload = gateway.call('POST', `/system/reload${query}`).then(answer => {
      answers.push('reload');
      return answer;
    });
    await whileStopped(async () => {
      expect((await gateway.call('GET', '/healthz')).status).toBe(200);
      expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
      answers.push('job');
    });
    expect((await reload).status).toBe(200);
    expect(answers).toEqual(['job', 'reload']);
  },
);

test('a reload that is asked for while another one reads begins after it, and is the one that counts', async () => {
  await gateway.reload({ plugins: { echo } });
  const whileStopped = stoppingLoads();
  gateway.write({ plugins: { echo, first: echo } });
  const first = gateway.call('POST', '/system/reload');
  const { second } = await whileStopped(async () => {
    gateway.write({ plugins: { echo, second: echo } });
    const second = gateway.call('POST', '/system/reload');
    await gateway.call('GET', '/healthz');
    return { second };
  });
  expect((await first).status).toBe(200);
  await whileStopped(async () => {});
  expect((await second).status).toBe(200);
  const names = ['first', 'second'].map(async name => (await gateway.call('GET', `/plugin/${name}`)).status);
  expect(await Promise.all(names)).toEqual([404, 200]);
});

/** Ends every thread except the main thread that reads a configuration. */
const deadly = `import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { isMainThread } from 'node:worker_threads';
const { readFileSync } = fs;
if (!isMainThread) fs.readFileSync = (path, ...more) =>
  String(path).endsWith('config.yaml') ? process.exit(1) : readFileSync(path, ...more);
syncBuiltinESMExports();`;

test('a reload is carried out although the thread that reads the configuration dies', async () => {
  onTestFinished(() => gateway.launch({}));
  gateway.launch({ environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(deadly)}` } });
  await gateway.restart();
  gateway.write({ plugins: { echo, more: echo } });
  expect((await gateway.call('POST', '/system/reload')).status).toBe(200);
  expect(await gateway.finished('more/handle')).toMatchObject({ status: 'succeeded' });
  expect(gateway.stderr).toContain('the reads thread ended with exit code 1');
});

/** Sends the process a SIGHUP as soon as it listens to one, long before all parts are up. */
const early = `const { on } = process;
process.on = (name, heard) => {
  on.call(process, name, heard);
  if (name === 'SIGHUP') process.kill(process.pid, 'SIGHUP');
  return process;
};`;

test('a reload that is asked for during the start happens once the service is up', async () => {
  onTestFinished(() => gateway.launch({}));
  gateway.launch({ environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(early)}` } });
  await gateway.restart();
  await until('the reload is answered', () => gateway.log.some(({ msg }) => msg === 'configuration reloaded'));
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});

/** Sends the service a SIGHUP before it reads its configuration. */
const earliest = `const { umask } = process;
if (process.argv.includes('start')) process.umask = mask => {
  process.umask = umask;
  process.kill(process.pid, 'SIGHUP');
  return umask(mask);
};`;

test('a reload that is asked for before the configuration is read does not end the start', async () => {
  onTestFinished(() => gateway.launch({}));
  gateway.launch({ environment: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(earliest)}` } });
  await gateway.restart();
  expect(await gateway.finished('echo/handle')).toMatchObject({ status: 'succeeded' });
});
