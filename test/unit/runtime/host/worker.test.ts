// Worker plugins: their requests, their possible answers, and how the tasks of a frame affect each other.
import { afterEach, describe, expect, it } from 'vitest';
import { pack } from '../../../../runtime/packing.ts';
import { clearStages, type FrameEnd, Stage } from './stage.ts';

afterEach(clearStages);

const event = { type: 'ticket.made', source: 'api', dedupeKey: 'd1' };
const headers = { 'x-delivery': '1' };

/** A plugin name for each row, made of its code, so that each has a directory of its own. */
const nameOf = (code: string) => code.replaceAll(/\W/g, '').slice(0, 60);

describe('A worker plugin', () => {
  it('gets the request of the contract', async () => {
    const stage = new Stage().plugin('echo', 'export const handle = request => ({ result: request })', {
      config: { a: [1] },
    });
    const { result, verdict, ...rest } = await stage.run('echo', {
      payload: { x: 1 },
      state: { seen: 2 },
      secrets: { key: 'open-sesame' },
      attempt: 3,
      deadlineMs: 5000,
      group: { context: pack({ user: 'u' }), pipeline: 'p', stepId: 's1', depth: 2, event: { ...event, headers } },
    });
    const envelope = {
      type: 'ticket.made',
      payload: { x: 1 },
      event_id: stage.lastJobId,
      timestamp: new Date(1.7e12).toISOString(),
      source: 'api',
      dedupe_key: 'd1',
      headers,
    };
    expect(verdict).toBe('ok');
    expect(result).toEqual({
      protocol: 2,
      job_id: stage.lastJobId,
      attempt: 3,
      command: 'handle',
      config: { a: [1] },
      secrets: { key: '[SECRET:key]' },
      state: { seen: 2 },
      payload: envelope,
      event: envelope,
      context: { user: 'u', pipeline: 'p', step_id: 's1', depth: 2 },
      deadline_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const startedMs = rest.startedUs / 1000;
    // A wrong unit or epoch would be off by years.
    expect(Math.abs(startedMs - Date.now())).toBeLessThan(60_000);
    expect(Date.parse((result as { deadline_at: string }).deadline_at) - startedMs).toBeCloseTo(5000, -3);
  });

  it('gets the payload as it is for other commands', async () => {
    const stage = new Stage().plugin(
      'echo',
      'export const poll = ({ payload, event }) => ({ result: { payload, none: event === undefined } })',
    );
    expect((await stage.run('echo', { command: 'poll', payload: [1] })).result).toEqual({ payload: [1], none: true });
  });

  const answers = [
    ['nothing', 'undefined', {}],
    ['an empty object', '{}', {}],
    ['a string', '{ result: "done" }', { result: 'done' }],
    ['a promise', 'Promise.resolve({ status: "ok", result: { a: 1 } })', { result: { a: 1 } }],
    ['a date', '{ result: { at: new Date(0), no: undefined } }', { result: { at: '1970-01-01T00:00:00.000Z' } }],
    [
      'events',
      '{ events: [{ type: "a" }, { type: "b", payload: { c: 1 }, dedupe_key: "k" }] }',
      {
        events: [
          { type: 'a', payload: {} },
          { type: 'b', payload: { c: 1 }, dedupe_key: 'k' },
        ],
      },
    ],
    ['state', '{ state_updates: { n: 1 } }', { state_updates: { n: 1 } }],
    [
      'logs and spans',
      '{ logs: [{ level: "info", message: "m" }], spans: [{ name: "s", dur_ns: 5 }] }',
      {
        logs: [{ level: 'info', message: 'm' }],
        spans: [{ name: 's', dur_ns: 5 }],
      },
    ],
  ] as const;

  it('may answer in many ways', async () => {
    const stage = new Stage(1);
    for (const [name, answer] of answers) stage.plugin(name, `export const handle = () => (${answer})`);
    for (const [name, , parts] of answers) {
      const { startedUs: _, runUs: __, ...ended } = await stage.run(name);
      expect(ended, name).toEqual({ task: 0, verdict: 'ok', permanent: false, ...parts });
    }
  });

  const failures = [
    ['() => { throw new Error("no luck") }', 'no luck', false],
    ['async () => { throw new RangeError("far") }', 'RangeError: far', false],
    ['() => { throw Object.assign(new Error("never"), { retry: false }) }', 'never', true],
    ['() => { throw "text" }', 'text', false],
    ['() => { throw Object.assign(new Error(), { message: { code: 3 } }) }', '{"code":3}', false],
    ['() => { throw Object.assign(new Error(), { message: ["a is missing"] }) }', '["a is missing"]', false],
    ['() => { throw runInNewContext("new RangeError(\'far\')") }', 'RangeError: far', false],
    ['() => ({ status: "error", error: "bad" })', 'bad', false],
    ['() => ({ status: "error", error: "bad", retry: false })', 'bad', true],
    ['() => ({ status: "error" })', 'invalid response: error must be a string when status is "error"', false],
    ['() => ({ status: "fine" })', 'invalid response: status must be "ok" or "error", not "fine"', false],
    ['() => 5', 'invalid response: it must be an object, not 5', false],
    ['() => [1]', 'invalid response: it must be an object, not a list', false],
    ['() => ({ result: 5 })', 'invalid response: result must be a string or an object, not 5', false],
    [
      '() => ({ result: { toJSON: () => [1] } })',
      'invalid response: result must be a string or an object, not a list',
      false,
    ],
    [
      '() => ({ state_updates: { toJSON: () => 5 } })',
      'invalid response: state_updates must be an object, not 5',
      false,
    ],
    ['() => ({ events: [, { type: "a" }] })', 'invalid response: events[0] must be an object, not missing', false],
    ['() => ({ events: [{}] })', 'invalid response: events[0].type must be a string, not missing', false],
    ['() => ({ state_updates: [] })', 'invalid response: state_updates must be an object, not a list', false],
    ['() => ({ logs: [{ level: "info" }] })', 'invalid response: logs[0].message must be a string, not missing', false],
    [
      '() => { const a = {}; a.a = a; return { result: a } }',
      'invalid response: result cannot be serialised: nested deeper than 200 levels, or circular',
      false,
    ],
    ['() => ({ get result() { throw new Error("trap") } })', 'invalid response: trap', false],
    [
      '() => ({ result: "x".repeat(11 * 2 ** 20) })',
      `invalid response: it has ${11 * 2 ** 20 + 5} bytes; the limit is ${10 * 2 ** 20}`,
      true,
    ],
  ] as const;

  it('fails when it throws, says so or breaks the contract', async () => {
    const stage = new Stage(1);
    const vm = "import { runInNewContext } from 'node:vm';";
    for (const [handler] of failures) stage.plugin(nameOf(handler), `${vm} export const handle = ${handler}`);
    for (const [handler, error, permanent] of failures) {
      const ended = await stage.run(nameOf(handler));
      expect(ended, handler).toMatchObject({ verdict: 'error', error, permanent });
      expect(ended.state_updates).toBeUndefined();
    }
  });

  it('fails for good when it has no function for the command', async () => {
    const ended = await new Stage(1).plugin('p', 'export const poll = () => {}').run('p');
    expect(ended).toMatchObject({ verdict: 'error', permanent: true, error: 'index.mjs exports no function "handle"' });
  });

  it.each([
    ['wrong syntax', 'export const handle = () => { ', /^index\.mjs cannot be loaded: SyntaxError: /],
    ['an import that does not exist', 'import "./absent.mjs"', /cannot be loaded: Cannot find module .*absent\.mjs/],
    [
      'a package that is not installed',
      'import "not-installed"',
      /cannot be loaded: Cannot find package 'not-installed'/,
    ],
    ['a name that a module lacks', 'import { absent } from "node:fs"', /cannot be loaded: SyntaxError: .*absent/],
    ['CommonJS in a module', 'require("node:fs")', /cannot be loaded: ReferenceError: require is not defined/],
  ])('fails for good when its file cannot be loaded, and is loaded again: %s', async (_, code, error) => {
    const stage = new Stage(1).plugin('p', code);
    const ended = await stage.run('p');
    expect([ended.verdict, ended.permanent, ended.error]).toEqual(['error', true, expect.stringMatching(error)]);
    stage.write('p', 'index.mjs', 'export const handle = () => ({ result: "mended" })');
    expect((await stage.run('p')).result).toBe('mended');
  });

  it('is tried again when code at the top level of its file throws, unless the error says that it is final', async () => {
    const stage = new Stage(1).plugin('p', 'await Promise.reject(new TypeError("fetch failed"))');
    const failed = { verdict: 'error', error: 'index.mjs cannot be loaded: fetch failed' };
    expect(await stage.run('p')).toMatchObject({ ...failed, permanent: false });
    stage.write('p', 'index.mjs', 'throw Object.assign(new TypeError("fetch failed"), { retry: false })');
    expect(await stage.run('p')).toMatchObject({ ...failed, permanent: true });
  });

  it('has its code loaded again, with all it imports, when the generation changes', async () => {
    const stage = new Stage(1).plugin('p', 'import { v } from "./v.mjs"; export const handle = () => ({ result: v })');
    stage.write('p', 'v.mjs', 'export const v = "one"');
    expect((await stage.run('p')).result).toBe('one');
    stage.write('p', 'v.mjs', 'export const v = "two"');
    expect((await stage.run('p')).result).toBe('one');
    stage.configure();
    expect((await stage.run('p')).result).toBe('two');
  });

  it('may be CommonJS', async () => {
    const stage = new Stage(1).plugin('p', 'module.exports = { handle: () => ({ result: "cjs" }) }', {
      entrypoint: 'index.cjs',
    });
    expect((await stage.run('p')).result).toBe('cjs');
  });

  it('may be in TypeScript, with modules beside it, and is told where its syntax is wrong', async () => {
    const code = `import { twice, type Amount } from './twice.ts';
      type Request = { readonly payload: Amount };
      export const poll = (request: Request): { result: string } => ({ result: String(twice(request.payload.n as number)) });`;
    const stage = new Stage(1).plugin('p', code, { entrypoint: 'index.ts' });
    stage.write(
      'p',
      'twice.ts',
      'export type Amount = { n: number };\nexport const twice = (n: number): number => n * 2;',
    );
    expect(await stage.run('p', { command: 'poll', payload: { n: 21 } })).toMatchObject({ result: '42' });
    stage.write('p', 'twice.ts', 'export enum Amount { none }');
    stage.configure();
    expect((await stage.run('p', { command: 'poll' })).error).toMatch(
      /^index\.ts cannot be loaded: SyntaxError: twice\.ts:1:8: .*enum/i,
    );
  });

  it('says what it has to say by log, span and emit, also when it throws', async () => {
    const code = `export function handle(request, { log, span, emit }) {
      log('info', 'one'); const end = span('read'); emit({ type: 'x' }); end(); end();
      if (request.payload.fail) throw new Error('late');
      return { events: [{ type: 'y' }] };
    }`;
    const stage = new Stage(1).plugin('p', code);
    const said = { logs: [{ level: 'info', message: 'one' }], spans: [{ name: 'read', dur_ns: expect.any(Number) }] };
    expect(await stage.run('p')).toMatchObject({
      ...said,
      events: [{ type: 'x' }, { type: 'y' }].map(e => ({ ...e, payload: {} })),
    });
    expect(await stage.run('p', { payload: { fail: true } })).toMatchObject({
      ...said,
      error: 'late',
      events: [{ type: 'x' }],
    });
  });

  it('may say so much and no more', async () => {
    const code = `export function handle(request, { log, span }) {
      for (let i = 0; i < 1500; i++) { log('info', 'x'.repeat(request.payload.chars)); span('s')() }
    }`;
    const stage = new Stage(1).plugin('p', code);
    const linesOf = async (chars: number) => {
      const { logs, spans } = await stage.run('p', { payload: { chars } });
      expect(spans).toHaveLength(32);
      return (logs as { message: string }[]).map(({ message }) => message);
    };
    const many = await linesOf(10);
    expect(many).toHaveLength(1001);
    expect(many[1000]).toBe('[lines after the first 1000 were cut]');
    const long = await linesOf(20_000);
    expect(long).toHaveLength(256);
    expect(long[255]).toBe('[lines after the first 255 were cut]');
    expect(long[0]).toHaveLength(16 * 1024 + 1);
  });

  it.each([
    [
      'is checked against the schema of its command',
      { type: 'object', properties: { a: { type: 'integer' } } },
      { a: 'x' },
      'payload.a must be integer',
    ],
    [
      'is checked by patterns in linear time',
      { properties: { a: { pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(50_000)}!` },
      'payload.a must match pattern "^(a+)+$"',
    ],
    [
      'is checked for unknown keys',
      { additionalProperties: false },
      { b: 1 },
      'payload must NOT have additional properties ("b")',
    ],
  ])('whose payload %s fails for good', async (_, inputSchema, payload, error) => {
    const stage = new Stage(1).plugin('p', 'export const handle = () => {}', { commands: { handle: { inputSchema } } });
    expect(await stage.run('p', { payload, group: { event } })).toMatchObject({
      verdict: 'error',
      permanent: true,
      error,
    });
  });

  it('that nobody configured fails for good', async () => {
    expect(await new Stage(1).run('ghost')).toMatchObject({
      verdict: 'error',
      permanent: true,
      error: 'the plugin "ghost" is not configured',
    });
  });

  it('that cannot be handed to it fails for good, and the next one runs', async () => {
    const stage = new Stage(1).plugin('p', 'export const handle = () => ({ result: { n: 1 } })');
    expect(await stage.run('p', { attempt: -1 })).toMatchObject({
      verdict: 'error',
      permanent: true,
      error: expect.stringMatching(/^the job cannot be sent to its plugin host: .*out of range/),
    });
    expect(await stage.run('p')).toMatchObject({ verdict: 'ok' });
  });

  it('sees only the allowed environment', async () => {
    process.env['LC_STAGE'] = 'yes';
    process.env['STAGE_PASSED'] = 'through';
    process.env['STAGE_SECRET'] = 'no';
    const stage = new Stage(1, ['STAGE_PASSED']).plugin(
      'p',
      'export const handle = () => ({ result: { ...process.env } })',
    );
    const env = (await stage.run('p')).result as Record<string, string>;
    expect(env).toMatchObject({ LC_STAGE: 'yes', STAGE_PASSED: 'through', PATH: process.env['PATH'] });
    expect(
      Object.keys(env).filter(name => !/^(PATH|HOME|TZ|LANG|LANGUAGE|TMPDIR|LC_.*|STAGE_PASSED)$/.test(name)),
    ).toEqual([]);
  });
});

describe('The tasks of a frame', () => {
  it('see the state updates of those before them that ended ok', async () => {
    const code = `export const handle = ({ state, payload }) => {
      const n = (state.n ?? 0) + 1;
      return payload.fail ? { status: 'error', error: 'no', state_updates: { n: 100 } } : { result: { n }, state_updates: { n } };
    }`;
    const payloads = [{}, { fail: 1 }, {}, {}];
    const { outcomes } = await new Stage(1).plugin('p', code).whole('p', { payloads, state: { n: 5 } });
    expect(outcomes.map(({ result }) => (result as { n: number } | undefined)?.n)).toEqual([6, undefined, 7, 8]);
  });

  it('have their state updates sent in the order in which they ended, whatever the size of their results', async () => {
    const code =
      "export const handle = ({ state: { n = 0 }, payload }) => ({ result: 'x'.repeat(payload), state_updates: { n: n + 1 } });";
    const { outcomes } = await new Stage(1).plugin('p', code).whole('p', { payloads: [0, 10_000, 0, 10_000, 0] });
    expect(outcomes.map(each => each.state_updates)).toEqual([1, 2, 3, 4, 5].map(n => ({ n })));
  });

  it('see nothing of one before them that was past its deadline', async () => {
    const code = `export const handle = ({ state, payload }) => {
      const endMs = performance.now() + payload;
      while (performance.now() < endMs);
      return { result: state, state_updates: { n: 1 } };
    }`;
    const stage = new Stage(1).plugin('p', code);
    // On a busy machine, the second task may be late too, or returned; then it tries again.
    const wanted = ({ outcomes }: FrameEnd) => outcomes[1]?.verdict === 'ok';
    const { outcomes } = await stage.frameUntil('p', { payloads: [3, 0], deadlineMs: 1 }, wanted);
    expect(outcomes.map(({ verdict, result }) => [verdict, result])).toEqual([
      ['timed_out', undefined],
      ['ok', {}],
    ]);
  });

  it('fail for good when the state would be too large, and leave it as it was', async () => {
    const code = `export const handle = ({ state, payload }, { log }) => {
      log('info', 'by log');
      const logs = [{ level: 'info', message: 'in the answer' }];
      return { result: Object.keys(state).join(), logs, state_updates: { [payload.key]: 'x'.repeat(payload.size) } };
    }`;
    const payloads = [
      { key: 'a', size: 10 },
      { key: 'b', size: 200 },
      { key: 'c', size: 1 },
    ];
    // The state is almost full, so a small update is too much. Handling a large one would take so long that the last task comes back.
    const state = { full: 'x'.repeat(2 ** 20 - 100) };
    const { outcomes } = await new Stage(1).plugin('p', code).whole('p', { payloads, state });
    expect(outcomes[1]).toMatchObject({
      verdict: 'error',
      permanent: true,
      error: expect.stringMatching(/^the plugin's state would have 10\d+ bytes/),
      logs: [{ message: 'by log' }, { message: 'in the answer' }],
    });
    expect(outcomes[1]).not.toHaveProperty('state_updates');
    expect(outcomes[2]).toMatchObject({ verdict: 'ok', result: 'full,a' });
  });

  it('cannot change what the others see', async () => {
    const code = `export const handle = ({ state, context, config }) => {
      const seen = JSON.stringify([state, context.user]);
      state.deep.x = 2; context.user = 'other';
      try { config.a = 2 } catch {}
      return { result: seen + config.a };
    }`;
    const stage = new Stage(1).plugin('p', code, { config: { a: 1 } });
    const job = { payloads: [1, 2], state: { deep: {} }, group: { context: pack({ user: 'u' }) } };
    const { outcomes } = await stage.whole('p', job);
    expect(outcomes.map(({ result }) => result)).toEqual(['[{"deep":{}},"u"]1', '[{"deep":{}},"u"]1']);
  });

  it('come back in large numbers and sizes', async () => {
    const stage = new Stage().plugin('p', 'export const handle = ({ payload }) => ({ result: { is: payload } })');
    const payloads = Array.from({ length: 300 }, (_, i) => ({ i, text: 'y'.repeat((i * 37) % 5000) }));
    const ends = await Promise.all([1, 2, 3].map(() => stage.frame('p', { payloads })));
    for (const { outcomes, returned } of ends) {
      expect(outcomes.length + returned.length).toBe(300);
      for (const { task, result } of outcomes) expect(result).toEqual({ is: payloads[task] });
    }
  });
});
