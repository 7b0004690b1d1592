// Process plugins: any executable, one process for each attempt.
import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { HostSender } from '../../../../runtime/host/process/host-sender.ts';
import { ProcessFrames } from '../../../../runtime/host/process/process-frames.ts';
import { encodeFrame } from '../../../../runtime/host/wire/frame.ts';
import { MessageReader } from '../../../../runtime/host/wire/message.ts';
import type { HostedPlugin } from '../../../../runtime/host/wire/plugin-host.ts';
import { responseBytesMax } from '../../../../runtime/host/wire/response.ts';
import { pack, packedEmpty } from '../../../../runtime/packing.ts';
import { identify } from '../../../../runtime/processes/identity.ts';
import { ProgramPids } from '../../../../runtime/processes/program-pids.ts';
import { openStore } from '../../../../runtime/store/ledger-store.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, type Ended, type Job, Stage } from './stage.ts';

afterEach(clearStages);

const sh = (body: string) => `#!/bin/sh\n${body}\n`;
const js = (body: string) => `#!${process.execPath}\n${body}\n`;
/** A program with `body` as its handler: it has the request as `request`, and returns the answer. */
const answering = (body: string) =>
  js(`const request = JSON.parse(require('fs').readFileSync(0, 'utf8'));
    process.stdout.write(JSON.stringify((() => { ${body} })()))`);
const ok = `echo '{"status":"ok"}'`;
const event = { type: 'ticket.made', source: 'api', dedupeKey: null };

type Row = readonly [title: string, code: string, expected: object, job?: Job];

const rows: readonly Row[] = [
  ['answers ok', sh(ok), { verdict: 'ok', permanent: false }],
  [
    'answers with all there is',
    sh(
      `echo '{"status":"ok","result":{"a":1},"events":[{"type":"x"}],"state_updates":{"n":1},"logs":[{"level":"info","message":"m"}]}'`,
    ),
    { verdict: 'ok', result: { a: 1 }, events: [{ type: 'x', payload: {} }], state_updates: { n: 1 } },
  ],
  ['answers and exits with a status', sh(`${ok}; exit 9`), { verdict: 'ok' }],
  ['answers ok and exits with 78', sh(`${ok}; exit 78`), { verdict: 'ok' }],
  [
    'fails by its answer',
    sh(`echo '{"status":"error","error":"bad"}'`),
    { verdict: 'error', permanent: false, error: 'bad' },
  ],
  [
    'fails for good by its answer',
    sh(`echo '{"status":"error","error":"bad","retry":false}'`),
    { permanent: true, error: 'bad' },
  ],
  [
    'fails for good by answer and status',
    sh(`echo '{"status":"error","error":"bad"}'; exit 78`),
    { permanent: true, error: 'bad' },
  ],
  ['fails for good by its status', sh('exit 78'), { permanent: true, error: 'no response on stdout (exit status 78)' }],
  [
    'says nothing',
    sh('exit 3'),
    { verdict: 'error', permanent: false, error: 'no response on stdout (exit status 3)' },
  ],
  [
    'says nothing, with its reason on stderr',
    sh("echo 'no such order' >&2; echo >&2; exit 3"),
    { error: 'no response on stdout (exit status 3): no such order', stderr: 'no such order\n\n' },
  ],
  [
    'ends by an error of Node with a stack and fields',
    js(`throw Object.assign(new RangeError('far ' + 'x'.repeat(1000)), { code: 'E' });`),
    { error: `no response on stdout (exit status 1): RangeError: far ${'x'.repeat(184)}…` },
  ],
  ['is killed', sh('kill -9 $$'), { permanent: false, error: 'no response on stdout (killed by SIGKILL)' }],
  [
    'answers no JSON',
    sh('echo hello'),
    { error: expect.stringMatching(/^the response is not JSON \(exit status 0\): /) },
  ],
  ['answers twice', sh(`${ok}; ${ok}`), { error: expect.stringMatching(/^the response is not JSON/) }],
  [
    'leaves out the status',
    sh('echo "{}"'),
    { error: 'invalid response: status must be "ok" or "error", not missing' },
  ],
  ['answers null', sh('echo null'), { error: 'invalid response: it must be an object' }],
  [
    'answers wrong fields',
    sh(`echo '{"status":"ok","events":{}}'`),
    { error: 'invalid response: events must be a list, not an object' },
  ],
  ['prints to stderr', sh(`echo trouble >&2; ${ok}`), { verdict: 'ok', stderr: 'trouble\n' }],
  [
    'prints too much to stderr',
    sh(`head -c 200000 /dev/zero | tr '\\0' x >&2; echo end >&2; ${ok}`),
    {
      verdict: 'ok',
      stderr: expect.stringMatching(new RegExp(`^\\[${200_004 - 65_536} bytes were cut\\]\\nx+end\\n$`)),
    },
  ],
  [
    'leaves too much state',
    answering(`console.error('trouble'); return { status: 'ok', state_updates: { n: 'x'.repeat(2 ** 20) } }`),
    {
      permanent: true,
      error: expect.stringMatching(/^the plugin's state would have 10\d+ bytes/),
      stderr: 'trouble\n',
    },
  ],
  [
    'updates too many keys of the state',
    answering(
      `return { status: 'ok', state_updates: Object.fromEntries(Array.from({ length: 50_001 }, (_, n) => ['k' + n, 1])) }`,
    ),
    { permanent: true, error: 'state_updates has 50001 keys; the limit is 50000' },
  ],
  [
    'prints too much to stdout',
    sh('head -c 11000000 /dev/zero'),
    { verdict: 'error', error: 'stdout has more than 10485760 bytes' },
  ],
  ['does not read its request', sh(`exec 0<&-; ${ok}`), { verdict: 'ok' }, { payload: 'x'.repeat(2_000_000) }],
  [
    'leaves a child that holds its output',
    sh(`(exec sleep 60) & ${ok}`),
    { verdict: 'ok', runUs: expect.toSatisfy(us => (us as number) < 15e6) },
  ],
  [
    'runs in its directory',
    sh('printf \'{"status":"ok","result":"%s"}\' "$PWD"'),
    { result: expect.stringMatching(/plugins.runs_in/) },
  ],
  [
    'answers integers that no double holds',
    sh(
      `echo '{"status":"ok","result":{"id":12345678901234567890,"in":"9007199254740993","f":1e30,"n":-9007199254740991}}'`,
    ),
    {
      result: { id: '12345678901234567890', in: '9007199254740993', f: 1e30, n: -9007199254740991 },
      logs: [{ level: 'warn', message: expect.stringMatching(/^\[an integer beyond .* became text\]$/) }],
    },
  ],
  [
    'has nothing of the pipes between host and service',
    sh(`[ -S /proc/$$/fd/3 ] || [ -S /proc/$$/fd/4 ] || ${ok}`),
    { verdict: 'ok' },
  ],
  [
    'is no program',
    'text',
    { error: expect.stringMatching(/^no response on stdout \(exit status 127\): .*text: .*not found$/) },
  ],
  [
    'has no interpreter',
    '#!/no/such/thing\n',
    { error: 'cannot start main: the interpreter in its first line, or its directory, does not exist' },
  ],
];

const nameOf = (title: string) => title.replaceAll(/\W/g, '_');

describe('A process plugin', () => {
  it('ends as it says, exits or misbehaves', async () => {
    const stage = new Stage(2);
    for (const [title, code] of rows) stage.plugin(nameOf(title), code, { runtime: 'process', entrypoint: 'main' });
    const ends = await Promise.all(rows.map(([title, , , job]) => stage.run(nameOf(title), job)));
    for (const [i, [title, , expected]] of rows.entries()) expect(ends[i], title).toMatchObject(expected);
  });

  it.each([
    ['no such file', { entrypoint: 'missing' }, 'cannot start missing: no such file'],
    ['a file that is not executable', { entrypoint: 'notes.txt' }, 'cannot start notes.txt: it is not executable'],
  ])('that is %s fails with that reason', async (_, more, error) => {
    const stage = new Stage(1).plugin('p', sh(ok));
    stage.write('p', 'notes.txt', 'x');
    chmodSync(`${stage.directory}/plugins/p/notes.txt`, 0o644);
    stage.plugins[0] = { ...stage.plugins[0]!, ...more };
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: false, error });
  });

  it('gets the request of the contract, and only the allowed environment', async () => {
    process.env['STAGE_SECRET'] = 'no';
    const code = answering('return { status: "ok", result: { request, env: Object.keys(process.env) } }');
    const stage = new Stage(1).plugin('p', code, { config: { a: 1 } });
    const { result } = await stage.run('p', {
      payload: { x: 1 },
      state: { s: 1 },
      secrets: { k: 'open-sesame' },
      group: { event },
    });
    const { request, env } = result as { request: object; env: string[] };
    const envelope = {
      type: 'ticket.made',
      payload: { x: 1 },
      event_id: stage.lastJobId,
      timestamp: '2023-11-14T22:13:20.000Z',
      source: 'api',
    };
    expect(request).toEqual({
      protocol: 2,
      job_id: stage.lastJobId,
      attempt: 1,
      command: 'handle',
      config: { a: 1 },
      secrets: { k: '[SECRET:k]' },
      state: { s: 1 },
      payload: envelope,
      event: envelope,
      context: { pipeline: null, step_id: null, depth: 0 },
      deadline_at: expect.any(String),
    });
    expect(env.filter(name => !/^(PATH|HOME|TZ|LANG|LANGUAGE|TMPDIR|LC_.*)$/.test(name))).toEqual([]);
  });

  it.runIf(existsSync('/proc/self/fd'))('inherits no open file of the service, nor does its host', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'headgate-store-'));
    const store = openStore(directory);
    onTestFinished(() => {
      store.close();
      rmSync(directory, { recursive: true });
    });
    const open = `require('fs').readdirSync('/proc/self/fd').map(fd => {
      try { return require('fs').readlinkSync('/proc/self/fd/' + fd) } catch { return 'gone' }
    })`;
    const stage = new Stage()
      .plugin('program', answering(`return { status: 'ok', result: { open: ${open} } }`))
      .plugin('thread', `exports.handle = () => ({ result: { open: ${open} } })`, { entrypoint: 'index.cjs' });
    for (const plugin of ['program', 'thread']) {
      const { result } = await stage.run(plugin);
      expect((result as { open: string[] }).open.filter(path => path.startsWith(directory))).toEqual([]);
    }
  });

  it('of the ductile dialect finds the names it reads, and the baggage in its payload', async () => {
    const stage = new Stage(1).plugin('p', answering('return { status: "ok", result: request }'), {
      dialect: 'ductile',
    });
    const context = pack({ user: 'u', x: 'from baggage' });
    const { result } = await stage.run('p', {
      payload: { x: 1 },
      group: { context, pipeline: 'pipe', stepId: 's', depth: 1, event },
    });
    expect(result).toMatchObject({
      context: { user: 'u', ductile_plugin: 'p', ductile_pipeline: 'pipe', ductile_step_id: 's' },
      event: { payload: { user: 'u', x: 1 } },
    });
  });

  it('of the ductile dialect fails if its result, added to each event, would be too large', async () => {
    const answer = 'return { status: "ok", result: "x".repeat(1e6), events: Array(5000).fill({ type: "e" }) }';
    const stage = new Stage(1).plugin('p', answering(answer), { dialect: 'ductile' });
    const error = `invalid response: it has ${5_001 * 1_000_005} bytes; the limit is ${responseBytesMax}`;
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: true, error });
  });

  it('does not run when it could not be found after a crash', async () => {
    const stage = new Stage(1).plugin('p', sh(`touch ran; ${ok}`));
    stage.configure();
    await stage.heard('log', /is up/);
    rmSync(stage.runDirectory, { recursive: true });
    const error = expect.stringMatching(/^cannot start main: its pid file cannot be written: ENOENT/);
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: false, error });
  });

  it('has its payload checked', async () => {
    const commands = { handle: { inputSchema: { required: ['a'] } } };
    const stage = new Stage(1).plugin('p', sh(ok), { commands });
    const error = "payload must have required property 'a'";
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: true, error });
  });

  it('is ended at its deadline: politely', async () => {
    const code = sh(`trap 'touch ended; echo "{\\"status\\":\\"ok\\"}"; exit 0' TERM; echo begun >&2; sleep 60 & wait`);
    const stage = new Stage(1).plugin('p', code);
    await runPastDeadline(stage);
    expect(existsSync(`${stage.directory}/plugins/p/ended`)).toBe(true);
  });

  it('is killed with all its children when it does not heed', async () => {
    const code = sh(`trap '' TERM; sleep 61 & echo $! >&2; for i in 1 2 3 4 5 6 7 8 9; do sleep 61; done`);
    const ended = await runPastDeadline(new Stage(1).plugin('p', code));
    expect(ended.runUs).toBeGreaterThan(5.2e6);
    const child = Number.parseInt(ended.stderr as string, 10);
    await until('its child is gone', () => identify(child).startTicks === null);
  });

  it.each([
    ['fails', 'exit 1', 'error'],
    ['succeeds', ok, 'ok'],
  ])('that %s leaves nothing behind, not even what has forked twice and left its group', async (_, end, verdict) => {
    const code = sh(`(setsid sh -c 'sleep 61 & echo $! >child; wait' </dev/null >/dev/null 2>&1 &)
      until [ -s child ]; do sleep 0.01; done; ${end}`);
    const stage = new Stage(1).plugin('p', code);
    expect(await stage.run('p')).toMatchObject({ verdict });
    const child = Number(readFileSync(`${stage.directory}/plugins/p/child`, 'utf8'));
    if (verdict === 'error') expect(isKilled(child)).toBe(true);
    else await until('it is gone', () => identify(child).startTicks === null);
  });

  it('runs at most as many times at once as there are threads; the others wait, or go back', async () => {
    const code = answering(`const fs = require('fs'), path = 'log';
      fs.appendFileSync(path, '+');
      // Each waits until two have begun, which shows that two run at the same time.
      do Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      while (!fs.readFileSync(path, 'latin1').includes('+', 1));
      fs.appendFileSync(path, '-');
      return { status: 'ok' }`);
    const stage = new Stage(2).plugin('p', code);
    await Promise.all([1, 2, 3, 4, 5].map(() => stage.run('p')));
    let now = 0;
    let most = 0;
    for (const mark of readFileSync(`${stage.directory}/plugins/p/log`, 'utf8')) {
      now += mark === '+' ? 1 : -1;
      most = Math.max(most, now);
    }
    expect(most).toBe(2);
  });

  it('sends back what stands behind it in its frame, since it is slow', async () => {
    const stage = new Stage(1).plugin('p', sh(`until [ -e told ]; do sleep 0.01; done; ${ok}`));
    const frame = stage.frame('p', { payloads: [1, 2, 3] });
    await stage.heard('returned', /1/);
    stage.write('p', 'told', '');
    const { outcomes, returned } = await frame;
    expect(outcomes.map(({ task }) => task)).toEqual([0]);
    expect(returned).toEqual([1, 2]);
  });

  it('has its end told although the next one in its frame does not end', async () => {
    const code = answering(`const fs = require('fs');
      while (request.payload.waits && !fs.existsSync('told')) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
      return { status: 'ok', result: request.payload }`);
    const stage = new Stage(1).plugin('p', code);
    const frame = stage.frame('p', { payloads: [{ waits: false }, { waits: true }, { waits: true }] });
    await stage.heard('outcomes', /1/);
    stage.write('p', 'told', '');
    const { outcomes, returned } = await frame;
    expect(outcomes.map(({ task }) => task).concat(returned)).toEqual([0, 1, 2]);
    expect(outcomes[0]).toMatchObject({ verdict: 'ok', result: { waits: false } });
  });
});

it.each<[string, Partial<HostedPlugin>]>([
  ['starts', {}],
  ['starts in vain', { digests: { main: 'of another file' } }],
])('a task that is cancelled while its program %s is returned, and leaves no program behind', async (_, more) => {
  const stage = new Stage().plugin('p', sh('cat'), more);
  const told: string[] = [];
  const sender = {
    outcomes: () => void told.push('outcomes'),
    returned: (_: number, first: number, end: number) => first < end && told.push('returned'),
  } as unknown as HostSender;
  const marks = new ProgramPids(stage.directory, 'test', randomUUID());
  const frames = new ProcessFrames(1, marks, stage.directory, sender);
  onTestFinished(() => frames.kill());
  frames.retire(stage.plugins);
  const group = { count: 1, context: packedEmpty, pipeline: null, stepId: null, depth: 0, event: null, createdUs: 0 };
  const { head } = encodeFrame(
    {
      ...{ frameId: 1, instance: 'p', command: 'handle', deadlineMs: 20_000, state: packedEmpty, groups: [group] },
      ...{ ids: new Uint8Array(16), attempts: [1], payloads: [packedEmpty] },
    },
    1,
    0,
  );
  new MessageReader((_, body) => frames.submit(body, stage.plugins[0]!)).push(Buffer.from(head));
  // Now the frame has begun, and its program is being started.
  await Promise.resolve();
  frames.cancel(1, 0, 'cancelled');
  await until('its program is gone', () => frames.idle);
  expect(told).toEqual(['returned']);
});

/** Runs a job until its time is over. Its program says on stderr that it has begun; if it begins too late, it is given more time. */
async function runPastDeadline(stage: Stage): Promise<Ended> {
  for (let deadlineMs = 300; ; deadlineMs *= 2) {
    const ended = await stage.run('p', { deadlineMs });
    const error = `timed out after ${deadlineMs} ms`;
    expect(ended).toMatchObject({ verdict: 'timed_out', permanent: false, error });
    if (ended.stderr !== undefined) return ended;
  }
}

/**
 * Whether the process has ended, or will run no more code: a killed process may still be listed for a moment, without a command line, or, on a
 * busy machine, with a pending SIGKILL.
 */
function isKilled(pid: number): boolean {
  try {
    const isPending = /^SigPnd:\s*[0-9a-f]*[13579bdf][0-9a-f]{2}$/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
    return isPending || readFileSync(`/proc/${pid}/cmdline`, 'latin1') === '';
  } catch {
    return true;
  }
}
