// Persistent process plugins: a process for many jobs, a line for each request and each answer.

import { existsSync, writeFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import {
  CrashHold,
  crashesMax,
  crashWindowMs,
  holdMs,
  holdReason,
  processLimits,
} from '../../../../runtime/crash-hold.ts';
import { LineReader } from '../../../../runtime/host/process/lines.ts';
import { identify } from '../../../../runtime/processes/identity.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, type Ended, type FrameEnd, type Job, Stage } from './stage.ts';

afterEach(clearStages);

/** A shell program that runs `body`, the cases of a `case`, for each request, with its `id` and the whole request as `line`. */
const sh = (body: string) =>
  `#!/bin/sh\nwhile IFS= read -r line; do id=\${line#*'"id":'}; id=\${id%%,*}; case "$line" in ${body} esac; done\n`;
const ok = `printf '{"id":%s,"status":"ok","result":"%s"}\\n' "$id" $$`;
const many = { persistent: { jobsMax: null, ageMs: null, pipelined: true } };
const one = { persistent: { jobsMax: null, ageMs: null, pipelined: false } };
const pids = ({ outcomes }: FrameEnd) => outcomes.map(({ result }) => result);

/** What the second of three jobs does, and how it ends; the first has succeeded, the third was sent back. */
const crimes: readonly (readonly [title: string, crime: string, expected: object, job?: Job])[] = [
  ['prints what is not JSON', 'echo hello', { error: expect.stringMatching(/^a line on stdout is not JSON: /) }],
  [
    'prints what is not JSON, and knows secrets',
    'echo s3cret',
    { error: 'a line on stdout is not JSON' },
    { secrets: { key: 's3cret' } },
  ],
  ['answers without an id', `echo '{"status":"ok"}'`, { error: 'a line on stdout has no id' }],
  ['answers null', 'echo null', { error: 'a line on stdout has no id' }],
  [
    'answers with an id of its own',
    `echo '{"id":"x","status":"ok"}'`,
    { error: 'a line on stdout has the id "x", which no open request has' },
  ],
  ['answers twice', `${ok}; ${ok}`, { task: 2, error: 'a line on stdout has the id 2, which no open request has' }],
  ['answers too much', 'head -c 11000000 /dev/zero; echo', { error: 'stdout has more than 10485760 bytes' }],
  [
    'exits',
    'echo why >&2; exit 3',
    { error: 'the process ended (exit status 3) without an answer: why', stderr: 'why\n' },
  ],
  ['exits silently', 'exit 3', { error: 'the process ended (exit status 3) without an answer' }],
  ['exits with 0', 'exit 0', { error: 'the process ended (exit status 0) without an answer' }],
  ['exits with 78', 'exit 78', { error: 'the process ended (exit status 78) without an answer', permanent: true }],
  ['kills itself', 'kill -9 $$', { error: 'the process ended (killed by SIGKILL) without an answer' }],
  [
    'is killed in the middle of a line',
    `printf '{"id":%s,"sta' "$id"; kill -9 $$`,
    { error: 'the process ended (killed by SIGKILL) without an answer' },
  ],
  [
    'exits with 78 in the middle of a line',
    `printf '{"id":%s,"sta' "$id"; exit 78`,
    { error: 'the process ended (exit status 78) without an answer', permanent: true },
  ],
  ['never ends', 'sleep 60', { verdict: 'timed_out', error: 'timed out after 5000 ms' }, { deadlineMs: 5000 }],
  ['leaves one out', ':', { verdict: 'timed_out', error: 'timed out after 5000 ms' }, { deadlineMs: 5000 }],
];

describe('A persistent process plugin', () => {
  it('serves job after job by one process', async () => {
    const stage = new Stage(1).plugin('p', sh(`*) ${ok} ;;`), many);
    const first = await stage.run('p');
    // A part of a frame comes back if an answer takes 5 ms.
    for (let left = 200; left > 0; ) {
      const end = await stage.frame('p', { payloads: Array(left).fill({}) });
      expect(end.outcomes.map(({ task }) => task)).toEqual(end.outcomes.map((_, task) => task));
      expect(new Set(pids(end))).toEqual(new Set([first.result]));
      left -= end.outcomes.length;
    }
  });

  it('has integers that no double holds read as text, with a warning', async () => {
    const answer = `echo '{"id":'$id',"status":"ok","result":{"n":[9007199254740993,-18446744073709551616]}}'`;
    const stage = new Stage(1).plugin('p', sh(`*) ${answer} ;;`), many);
    expect(await stage.run('p')).toMatchObject({
      result: { n: ['9007199254740993', '-18446744073709551616'] },
      logs: [{ level: 'warn', message: expect.stringMatching(/^\[2 integers beyond .* became text\]$/) }],
    });
  });

  it('has as many processes as there are threads, and starts them when they are needed', async () => {
    const code = sh(`*) echo up >>ups; until [ -e gate ]; do sleep 0.01; done; ${ok} ;;`);
    const stage = new Stage(2).plugin('p', code, many);
    const frames = [1, 2, 3].map(() => stage.frame('p'));
    stage.write('p', 'gate', '');
    const found = (await Promise.all(frames)).flatMap(pids);
    expect(new Set(found).size).toBeLessThanOrEqual(2);
  });

  it('is replaced after its maximum of jobs: its input ends', async () => {
    const code = `${sh(`*) ${ok} ;;`)}echo $$ >>ends\n`;
    const stage = new Stage(1).plugin('p', code, { persistent: { jobsMax: 3, ageMs: null, pipelined: true } });
    const found: unknown[] = [];
    for (let left = 7; left > 0; left = 7 - found.length)
      found.push(...pids(await stage.frame('p', { payloads: Array(left).fill({}) })));
    const [a, , , b, , , c] = found;
    expect(found).toEqual([a, a, a, b, b, b, c]);
    expect(new Set([a, b, c]).size).toBe(3);
    await until('the first two have ended', () => [a, b].every(pid => identify(Number(pid)).startTicks === null));
  });

  it('is replaced when it is old', async () => {
    const mode = { persistent: { jobsMax: null, ageMs: 1, pipelined: true } };
    const stage = new Stage(1).plugin('p', sh(`*) ${ok} ;;`), mode);
    const { result } = await stage.run('p');
    await until('it has ended', () => identify(Number(result)).startTicks === null);
    expect((await stage.run('p')).result).not.toBe(result);
  });

  it('may become older than a timer can wait', async () => {
    const mode = { persistent: { jobsMax: null, ageMs: 30 * 24 * 3_600_000, pipelined: true } };
    const stage = new Stage(1).plugin('p', sh(`*) ${ok} ;;`), mode);
    const { result } = await stage.run('p');
    expect((await stage.run('p')).result).toBe(result);
  });

  it('sees the state that the jobs before it in the frame have left', async () => {
    const code = `#!${process.execPath}
      require('readline').createInterface({ input: process.stdin }).on('line', line => {
        const { id, state } = JSON.parse(line);
        console.log(JSON.stringify({ id, status: 'ok', result: { n: state.n }, state_updates: { n: state.n + 1 } }));
      });`;
    const stage = new Stage(1).plugin('p', code, many);
    await stage.run('p', { state: { n: 0 } });
    const { outcomes } = await stage.whole('p', { payloads: [0, 0, 0], state: { n: 5 } });
    expect(outcomes.map(({ result }) => result)).toEqual([{ n: 5 }, { n: 6 }, { n: 7 }]);
  });

  it('that misbehaves loses its process: the job at fault bears it, what was asked behind it goes back', async () => {
    const stage = new Stage(2);
    for (const [i, [, crime]] of crimes.entries()) stage.plugin(`p${i}`, sh(`*bad*) ${crime} ;; *) ${ok} ;;`), many);
    const ends = await Promise.all(
      crimes.map(async ([, , , job], i) => {
        const asked = { ...job, payloads: ['good', 'bad', 'next'] };
        // There are more frames than the host can run at a time, and one that waits too long is returned whole.
        const { outcomes } = await stage.frameUntil(`p${i}`, asked, end => end.outcomes.length > 0);
        return outcomes;
      }),
    );
    for (const [i, [title, , expected]] of crimes.entries()) {
      const failed = ends[i]!.filter(({ verdict }) => verdict !== 'ok');
      expect(failed, title).toMatchObject([{ verdict: 'error', permanent: false, task: 1, ...expected }]);
      expect(ends[i], title).toContainEqual(expect.objectContaining({ verdict: 'ok', task: 0 }));
    }
    const after = await Promise.all(crimes.map((_, i) => stage.run(`p${i}`)));
    for (const [i, [title]] of crimes.entries()) expect(after[i], title).toMatchObject({ verdict: 'ok' });
  });

  it.each([
    ['prints what is no answer', `printf '{"id":%s,"status":"ok"}\\njunk\\n' "$id"`],
    ['answers twice', `printf '{"id":%s,"status":"ok"}\\n{"id":%s,"status":"ok"}\\n' "$id" "$id"`],
    ['ends without the end of its line', `printf '{"id":%s,"status":"ok"}' "$id"; exit`],
  ])('that %s behind an answer is not asked again: nobody has waited for it', async (_, crime) => {
    const stage = new Stage(1).plugin('p', sh(`*) ${crime} ;;`), one);
    // Two frames of one job each, then a frame of two.
    for (const payloads of [[0], [0], [0, 0]]) {
      const { outcomes } = await stage.frame('p', { payloads });
      expect(outcomes.map(({ verdict, error }) => error ?? verdict)).toEqual(outcomes.map(() => 'ok'));
    }
  });

  it('loses only the process that is past its deadline', async () => {
    const stage = new Stage(2).plugin('p', sh(`*bad*) sleep 60 ;; *) ${ok} ;;`), one);
    const late = stage.run('p', { payload: 'bad', deadlineMs: 400 });
    const { result } = await stage.run('p');
    expect(await late).toMatchObject({ verdict: 'timed_out', error: 'timed out after 400 ms' });
    expect(await stage.run('p')).toMatchObject({ verdict: 'ok', result });
  });

  it('that keeps crashing is not started for a while, and its jobs may try again', async () => {
    const stage = new Stage(1).plugin('p', '#!/bin/sh\nexit 1\n', many);
    const ends: Ended[] = [];
    for (let i = 0; i <= crashesMax; i++) ends.push(await stage.run('p'));
    for (const end of ends.slice(0, -1)) expect(end.error).toBe('the process ended (exit status 1) without an answer');
    expect(ends.at(-1)).toMatchObject({ verdict: 'error', permanent: false, error: holdReason });
    await stage.heard('log', /^error not started: /);
  });

  it('ends with a cancel: of the other requests only the oldest comes back as one that may have begun', async () => {
    const code = sh(`*quick*) ${ok} ;; *) echo $$ >>begun; sleep 60 ;;`);
    const stage = new Stage(1).plugin('p', code, many);
    await stage.run('p', { payload: 'quick' });
    const frame = stage.frame('p', { payloads: ['first', 'second', 'third', 'fourth'] });
    await until('the first has begun', () => existsSync(`${stage.directory}/plugins/p/begun`));
    await stage.cancel(2, 'cancelled by somebody');
    const { outcomes, returned, begun } = await frame;
    expect(outcomes).toMatchObject([{ task: 2, verdict: 'error', error: 'cancelled by somebody' }]);
    expect([returned, begun]).toEqual([[1, 3, 0], [0]]);
  });

  it('ends 5 s after a cancel that it was told and has not answered, with all jobs that are cancelled by then', async () => {
    const code = sh(`*quick*) ${ok} ;; *) echo $$ >>begun; sleep 60 ;;`);
    const stage = new Stage(1).plugin('p', code, { persistent: { ...many.persistent, hearsCancel: true } });
    await stage.run('p', { payload: 'quick' });
    const frame = stage.frame('p', { payloads: ['first', 'second', 'third', 'fourth'] });
    await until('the first has begun', () => existsSync(`${stage.directory}/plugins/p/begun`));
    await Promise.all([stage.cancel(3, 'cancelled by one'), stage.cancel(1, 'cancelled by another')]);
    const { outcomes, returned, begun } = await frame;
    expect(outcomes).toMatchObject([
      { task: 1, verdict: 'error', error: 'cancelled by another' },
      { task: 3, verdict: 'error', error: 'cancelled by one' },
    ]);
    expect([returned, begun]).toEqual([[2, 0], [0]]);
  });

  it('is past its deadline although later requests were cancelled: the oldest job times out, the cancelled ones end cancelled', async () => {
    const code = sh(`*quick*) ${ok} ;; *) echo $$ >>begun; sleep 60 ;;`);
    const stage = new Stage(1).plugin('p', code, { persistent: { ...many.persistent, hearsCancel: true } });
    await stage.run('p', { payload: 'quick' });
    const frame = stage.frame('p', { payloads: ['first', 'second', 'third', 'fourth'], deadlineMs: 4500 });
    await until('the first has begun', () => existsSync(`${stage.directory}/plugins/p/begun`));
    await Promise.all([stage.cancel(3, 'cancelled by one'), stage.cancel(1, 'cancelled by another')]);
    const { outcomes, returned, begun } = await frame;
    expect(outcomes).toMatchObject([
      { task: 0, verdict: 'timed_out', error: 'timed out after 4500 ms' },
      { task: 1, verdict: 'error', error: 'cancelled by another' },
      { task: 3, verdict: 'error', error: 'cancelled by one' },
    ]);
    expect([returned, begun]).toEqual([[2], []]);
  });

  it('has the secrets that it was given masked in all it says, later too', async () => {
    const code = sh(
      `*late*) echo "was s3cret" >&2; printf '{"id":%s,"status":"error","error":"s3cret"}\\n' "$id" ;; *) ${ok} ;;`,
    );
    const stage = new Stage(1).plugin('p', code, one);
    await stage.run('p', { secrets: { key: 's3cret' } });
    const { error, stderr = '' } = await stage.run('p', { payload: 'late' });
    expect(error).toBe('[SECRET:key]');
    expect(stderr).not.toContain('s3cret');
  });

  it('has what it says behind an answer kept with the next one, with secrets too', async () => {
    const once = 'if [ ! -e said ]; then echo behind s3cret >&2; echo >said; fi';
    const stage = new Stage(1).plugin('p', sh(`*) ${ok}; ${once} ;;`), one);
    const ask = async () => (await stage.run('p', { secrets: { key: 's3cret' } })).stderr ?? '';
    let said = await ask();
    await until('it has said it', () => existsSync(`${stage.directory}/plugins/p/said`));
    // stderr is another pipe than that of answers, so the text arrives with the next answer, or soon after it.
    for (let more = 0; more < 20 && said === ''; more++) said = String(await ask());
    expect(said).toBe('behind [SECRET:key]\n');
  });

  it('has a secret masked that it says half before an answer and half behind it', async () => {
    const says = `*first*) printf 'it is s3c' >&2; ${ok} ;; *second*) echo 'ret!' >&2; ${ok} ;; *) ${ok} ;;`;
    const stage = new Stage(1).plugin('p', sh(says), one);
    let said = '';
    const ask = async (payload: string) => {
      said += (await stage.run('p', { payload, secrets: { key: 's3cret' } })).stderr ?? '';
    };
    // stderr is another pipe than that of answers, so the text arrives with its own answer, or with one soon after it.
    await ask('first');
    for (let more = 0; more < 20 && !said.includes('it is'); more++) await ask('nothing');
    await ask('second');
    for (let more = 0; more < 20 && !said.includes('!'); more++) await ask('nothing');
    expect(said).toBe('it is [SECRET:key]!\n');
  });

  it('is started again with another configuration', async () => {
    const stage = new Stage(1).plugin('p', sh(`*) ${ok} ;;`), many);
    const { result } = await stage.run('p');
    stage.configure();
    expect((await stage.run('p')).result).not.toBe(result);
    await until('the old process has ended', () => identify(Number(result)).startTicks === null);
  });

  it('is held to its seal with each start', async () => {
    const stage = new Stage(1).plugin('p', sh(`*bad*) exit 1 ;; *) ${ok} ;;`), { ...one, digests: { main: '00' } });
    const error = 'cannot start main: main has changed since it was locked';
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: false, error });
  });

  it('that cannot be started says why', async () => {
    const stage = new Stage(1).plugin('p', '#!/no/such/thing\n', many);
    const error = 'cannot start main: the interpreter in its first line, or its directory, does not exist';
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: false, error });
    writeFileSync(`${stage.directory}/plugins/p/main`, sh(`*) ${ok} ;;`));
    expect(await stage.run('p')).toMatchObject({ verdict: 'ok' });
  });
});

describe('The crash hold', () => {
  it('opens with the fifth crash within a minute, for half a minute, and again with the next one soon after', () => {
    const hold = new CrashHold(processLimits);
    for (let i = 1; i < crashesMax; i++) expect(hold.crashed(i)).toBe(false);
    expect(hold.holds(10)).toBe(false);
    expect(hold.crashed(10)).toBe(true);
    expect([hold.holds(10), hold.holds(9 + holdMs), hold.holds(10 + holdMs)]).toEqual([true, true, false]);
    expect(hold.crashed(10 + holdMs)).toBe(true);
    // A further crash during the hold prolongs it.
    expect(hold.crashed(20 + holdMs)).toBe(false);
    expect([hold.holds(19 + 2 * holdMs), hold.holds(20 + 2 * holdMs)]).toEqual([true, false]);
  });

  it('forgets crashes that are longer ago', () => {
    const hold = new CrashHold(processLimits);
    for (let i = 0; i < 20; i++) expect(hold.crashed((i * crashWindowMs) / (crashesMax - 1))).toBe(false);
  });
});

describe('Lines', () => {
  it.each([
    [['a\nb\n'], ['a', 'b']],
    [
      ['a', 'b\nc', '\n', '\n \n'],
      ['ab', 'c'],
    ],
    [['\u00e4\n'.repeat(2)], ['\u00e4', '\u00e4']],
    [['open'], ['open']],
    [
      ['12345678\n', '1234', '5678'],
      ['12345678', '12345678'],
    ],
  ])('%j are %j', (chunks, lines) => {
    const reader = new LineReader(8);
    const found = chunks.flatMap(chunk => reader.push(Buffer.from(chunk)) ?? ['too long']);
    expect([...found, ...reader.end()]).toEqual(lines);
  });

  it.each([[['123456789\n']], [['12345', '6789']], [['ok\n12345', '6789\n']]])('%j have one too long', chunks => {
    const reader = new LineReader(8);
    expect(chunks.map(chunk => reader.push(Buffer.from(chunk)))).toContain(null);
  });

  it('may cut a letter in two', () => {
    const reader = new LineReader(8);
    const bytes = Buffer.from('\u00e4\n');
    expect([reader.push(bytes.subarray(0, 1)), reader.push(bytes.subarray(1))]).toEqual([[], ['\u00e4']]);
  });
});
