// The misbehaviour matrix: what a plugin does, in which runtime, and what becomes of its job.
import { expect } from 'vitest';
import { limitsDefault, sandboxFault } from '../../../runtime/processes/sandbox.ts';
import { cyclesOf } from '../../support/deep.ts';
import type { PluginSource } from '../gateway/configuration.ts';
import type { Job } from '../gateway/gateway.ts';
import { journal } from '../gateway/sources.ts';

export type Row = {
  readonly title: string;
  readonly plugin: PluginSource;
  /** The entry of the plugin in the configuration, `plugins.<name>`. */
  readonly instance?: { readonly [key: string]: unknown };
  readonly payload?: object;
  readonly ends: Partial<Record<keyof Job, unknown>>;
};

const soon = { timeouts: { handle: '500ms' } };
const late = { status: 'timed_out', last_error: 'timed out after 500 ms' };
const succeeded = (output: object = {}) => ({ status: 'succeeded', result: expect.objectContaining(output) });
const failed = (last_error: unknown) => ({ status: 'failed', last_error });
const ok = `echo '{"status":"ok"}'`;
const ansi = '\u001b[31mred\u001b[0m\r\nlevel=fatal forged';
export const secret = 'correct/horse battery+staple';
const encodings = [secret, Buffer.from(secret).toString('base64'), encodeURIComponent(secret)];
const deep = 'nested deeper than 200 levels, or circular';
const hasBwrap = (await sandboxFault({ kind: 'bwrap', limits: limitsDefault })) === null;

/** For each of `besideRows`, the number of good jobs that run in the same thread. */
export const neighbours = cyclesOf({ deep: 255, quick: 31 });
/** The neighbours must begin and end within this time. */
const besideMs = cyclesOf({ deep: 5000, quick: 3000 });
const lateBeside = { status: 'timed_out', last_error: `timed out after ${besideMs} ms` };

/** A row for a concurrent command. A job whose payload has `wild` runs `body`; the others wait at a gate. */
function beside(title: string, body: string, ends: Row['ends'], deadline = '60s'): Row {
  const code = `${journal}
    export async function handle(request, { signal }) {
      const { wild, gate: name } = request.event.payload;
      note(request, 'start', { aborted: signal.aborted });
      if (wild) { ${body} } else await gate(name);
    }`;
  const plugin = { code, commands: { handle: { concurrency: 256 } } };
  return { title, plugin, payload: { wild: true }, ends, instance: { timeouts: { handle: deadline } } };
}

function sh(title: string, body: string, ends: Row['ends'], more: Partial<Row> = {}): Row {
  const code = `#!/bin/sh\n${body}\n`;
  return { title, plugin: { code, entrypoint: 'run', runtime: 'process', commands: { handle: {} } }, ends, ...more };
}

/** A row for a worker plugin; `body` is the body of its handler, and may await. */
function js(title: string, body: string, ends: Row['ends'], more: Partial<Row> = {}): Row {
  const code = `export const handle = async (request, { emit, log }) => { ${body} };`;
  return { title, plugin: code, ends, ...more };
}

/** These rows run at the same time, because they share nothing. Each of the first two occupies a host for more than five seconds. */
export const processRows: readonly Row[] = [
  sh('ignores SIGTERM', `trap '' TERM; while :; do sleep 1; done`, late, { instance: soon }),
  sh('stops itself', 'kill -STOP $$', late, { instance: soon }),
  sh('exits with 0', 'exit 0', failed('no response on stdout (exit status 0)')),
  sh('exits with 1', 'exit 1', failed('no response on stdout (exit status 1)')),
  sh(
    'exits with 78',
    'exit 78',
    { ...failed('no response on stdout (exit status 78)'), attempt: 1 },
    {
      instance: { retry: { max_attempts: 3 } },
    },
  ),
  sh('exits with 137', 'exit 137', failed('no response on stdout (exit status 137)')),
  sh(
    'prints 10 MB',
    `printf '{"status":"ok","result":"'; head -c 10000000 /dev/zero | tr '\\0' x; printf '"}'`,
    succeeded({ result: expect.toSatisfy((text: string) => text.length === 10_000_000) }),
  ),
  sh('prints 1 GB', 'yes | head -c 1073741824', failed('stdout has more than 10485760 bytes')),
  sh('prints to stderr without end', 'yes >&2', late, { instance: soon }),
  sh(
    'prints what is no JSON',
    'echo hello',
    failed(expect.stringMatching(/^the response is not JSON \(exit status 0\): /)),
  ),
  sh(
    'prints two documents',
    `${ok}; ${ok}`,
    failed(expect.stringMatching(/^the response is not JSON \(exit status 0\): /)),
  ),
  sh(
    'prints deep JSON',
    `printf '{"status":"ok","result":{"a":'; head -c 20000 /dev/zero | tr '\\0' '['; head -c 20000 /dev/zero | tr '\\0' ']'; printf '}}'`,
    failed(`invalid response: result cannot be serialised: ${deep}`),
  ),
  sh('never reads its request', ok, succeeded(), { payload: { text: 'x'.repeat(900_000) } }),
  sh('leaves a child that holds its output', `sleep 63.5 & ${ok}`, succeeded()),
  sh('forks twice', `(setsid sleep 63.5 </dev/null >/dev/null 2>&1 &) ; ${ok}`, succeeded()),
  sh(
    'forks twice and fails',
    '(setsid sleep 63.5 </dev/null >/dev/null 2>&1 &)',
    failed('no response on stdout (exit status 0)'),
  ),
  sh(
    'takes 2 GB',
    'exec head -c 2147483648 /dev/zero | tail -n 1',
    failed(expect.stringMatching(/^no response on stdout \(exit status 1\): tail: /)),
    { instance: { sandbox: 'limits', limits: { memory: '256MB' } } },
  ),
  sh('loops for ever', 'while :; do :; done', late, { instance: soon }),
  sh('crashes natively', 'kill -SEGV $$', failed('no response on stdout (killed by SIGSEGV)')),
  sh('kills its group', 'kill -KILL 0', failed('no response on stdout (killed by SIGKILL)')),
  sh('fails after its answer', `${ok}; exit 3`, succeeded()),
  sh(
    'fails by a wrong field',
    `echo '{"status":"ok","result":[1]}'`,
    failed('invalid response: result must be a string or an object, not a list'),
  ),
  sh(
    'floods 100,000 events',
    `printf '{"status":"ok","events":['; seq -s, -f '{"type":"e.%.0f"}' 100000 | tr -d '\\n'; printf ']}'`,
    succeeded({ events: expect.toSatisfy((events: unknown[]) => events.length === 100_000) }),
  ),
  sh(
    'says its secret in three ways',
    `echo '${encodings.join(' ')}' >&2; echo '{"status":"ok","result":"${encodings.join(' ')}"}'`,
    succeeded({ result: '[SECRET:key] [SECRET:key] [SECRET:key]' }),
  ),
  sh(
    'logs control characters',
    `printf %s '${JSON.stringify({ status: 'ok', logs: [{ level: 'info', message: ansi }] })}'`,
    succeeded({ logs: [{ level: 'info', message: ansi }] }),
  ),
  ...(hasBwrap
    ? [
        sh(
          "writes into another plugin's directory",
          `touch ../process_exits_with_0/stolen 2>/dev/null && r=written || r=refused; echo '{"status":"ok","result":"'$r'"}'`,
          succeeded({ result: 'refused' }),
          { instance: { sandbox: 'bwrap' } },
        ),
      ]
    : []),
];

/** These rows run one after another, because some of them end the host. */
export const workerRows: readonly Row[] = [
  js('loops for ever', 'for (;;);', late, { instance: soon }),
  js('never ends', 'await new Promise(() => {})', late, { instance: soon }),
  js('prints without end', `for (;;) console.error('x'.repeat(1000))`, late, { instance: soon }),
  js('exits', 'process.exit(3)', failed('the plugin ended its thread: process.exit(3)')),
  js(
    'leaves a promise rejected',
    `Promise.reject(new Error('alone')); await new Promise(() => {})`,
    failed('uncaught error: alone'),
  ),
  js(
    'kills its host',
    `process.kill(process.pid, 'SIGKILL'); for (;;);`,
    failed('the plugin host ended while the job ran: the plugin host died (SIGKILL)'),
  ),
  js(
    'crashes its host natively',
    `process.kill(process.pid, 'SIGSEGV'); for (;;);`,
    failed(expect.stringMatching(/^the plugin host ended while the job ran: the plugin host died \(SIGSEGV\)/)),
  ),
  js('kills the service', 'process.kill(process.ppid)', failed(expect.stringMatching(/^kill EPERM/))),
  js(
    'answers what cannot be serialised',
    `return { result: { toJSON() { throw new Error('no form') } } }`,
    failed('invalid response: result cannot be serialised: no form'),
  ),
  js(
    'answers deep JSON',
    `let a = {}; for (let i = 0; i < 1000; i++) a = { a }; return { result: a }`,
    failed(`invalid response: result cannot be serialised: ${deep}`),
  ),
  js(
    'answers 10 MB',
    `return { result: 'x'.repeat(10_000_000) }`,
    succeeded({ result: expect.toSatisfy((text: string) => text.length === 10_000_000) }),
  ),
  js(
    'floods 100,000 events',
    `for (let i = 0; i < 100_000; i++) emit({ type: 'e.' + i, payload: {} })`,
    succeeded({ events: expect.toSatisfy((events: unknown[]) => events.length === 100_000) }),
  ),
  js(
    'says its secret in three ways',
    `const { key } = request.secrets; console.log(key); return { result: [key, btoa(key), encodeURIComponent(key)].join(' ') }`,
    succeeded({ result: '[SECRET:key] [SECRET:key] [SECRET:key]' }),
  ),
  js(
    'logs control characters',
    `console.log(${JSON.stringify(ansi)}); log('info', ${JSON.stringify(ansi)})`,
    succeeded({ logs: [{ level: 'info', message: ansi }] }),
  ),
  // This row comes last: until its thread has died, a job of a further row could be on that thread, and would be charged.
  js('throws after its answer', `setImmediate(() => { throw new Error('later') })`, succeeded()),
];

/** Each of these runs beside good jobs in the same thread, which must all succeed at their first attempt. */
export const besideRows: readonly Row[] = [
  beside('blocks', 'for (;;);', lateBeside, `${besideMs}ms`),
  beside('never settles', 'await new Promise(() => {});', lateBeside, `${besideMs}ms`),
  beside('throws after its answer', `setTimeout(() => { throw new Error('later') });`, succeeded()),
  beside(
    'throws where nobody catches',
    `setTimeout(() => { throw new Error('alone') }); await new Promise(() => {});`,
    failed('uncaught error: alone'),
  ),
  beside('exits', 'await null; process.exit(3);', failed('the plugin ended its thread: process.exit(3)')),
  beside(
    'takes all memory',
    'for (const all = [];;) all.push(new Array(1e6).fill(0.5));',
    failed(expect.stringMatching(/^out of memory/)),
  ),
];

/** The name of the row's plugin, made from the title. */
export function nameOf({ title }: Row, prefix: string): string {
  return prefix + title.replaceAll(/\W/g, '_');
}
