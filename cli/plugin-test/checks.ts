// The checks of `plugin test`, and their results.

import { endText, killDelayMs } from '../../runtime/host/process/program.ts';
import type { HostedPlugin } from '../../runtime/host/wire/plugin-host.ts';
import { PayloadChecks } from '../../runtime/host/wire/schema.ts';
import { isObject } from '../../runtime/json-value.ts';
import { type Json, type JsonObject, unpack } from '../../runtime/packing.ts';
import { countText } from '../../runtime/text.ts';
import type { HarnessAnswer, PluginHarness } from './harness.ts';
import { syntaxErrorPlace } from './place.ts';
import { sampleOf } from './sample.ts';

export type CheckFinding = {
  readonly command: string;
  readonly check: 'good request' | 'bad request' | 'large request' | 'deadline' | 'garbage on stdin';
  readonly passed: boolean;
  readonly detail: string;
};

type Plan = {
  readonly plugin: HostedPlugin;
  /** The plugin without its input schemas, to test how its code handles any payload. */
  readonly bare: HostedPlugin;
  readonly commands: readonly string[];
  /** The payload for each command; if undefined, one is generated from the input schema. */
  readonly payloads: { readonly [command: string]: JsonObject | undefined };
  readonly deadlineMs: number;
};

const largeChars = 2 ** 20;
/** The deadline of the deadline check: usually long enough for the plugin to start, and too short for most work. */
const shortDeadlineMs = 250;
/** Matches the host's error messages which say that the plugin gave no valid answer. */
const noAnswer =
  /^(no response on stdout|the response is not JSON|invalid response|stdout has more|cannot start|the process )/;

export async function* runChecks(harness: PluginHarness, plan: Plan): AsyncGenerator<CheckFinding> {
  for (const command of plan.commands) {
    const finding = (check: CheckFinding['check'], [passed, detail]: readonly [boolean, string]): CheckFinding => ({
      command,
      check,
      passed,
      detail,
    });
    const answer = await harness.ask(plan.plugin.instance, command, payloadOf(plan, command), plan.deadlineMs);
    yield finding('good request', goodRequest(plan, command, answer));
    // A plugin that does not load would fail the other checks for the same reason.
    if (isUnloaded(plan, answer)) continue;
    yield finding('bad request', await badRequest(harness, plan, command));
    yield finding('large request', await largeRequest(harness, plan, command));
    yield finding('deadline', await deadline(harness, plan, command));
  }
  if (plan.plugin.runtime === 'process') {
    const [passed, detail] = await garbage(harness, plan);
    yield { command: '', check: 'garbage on stdin', passed, detail };
  }
}

type Judgement = readonly [passed: boolean, detail: string];

function goodRequest(plan: Plan, command: string, answer: HarnessAnswer): Judgement {
  const { plugin, payloads } = plan;
  if (answer.verdict === 'ok') return [true, `answered ok${shown(answer)}`];
  const hint =
    payloads[command] === undefined && !isUnloaded(plan, answer)
      ? `; the payload was generated (${JSON.stringify(generated(plugin, command))}): keep a real one in payloads/${command}.json, or pass it with --payload`
      : '';
  const said = plugin.runtime === 'worker' ? framesOf(answer) : stderrOf(answer);
  const place = syntaxErrorPlace(plugin, answer.error);
  const at = place === null || answer.error.includes(place) ? '' : `; at ${place}`;
  return [false, `${failed(answer)}${said}${at}${hint}`];
}

/**
 * Sends an empty payload to the plugin without its input schema. A schema with required fields would refuse this payload, but the
 * code must still answer.
 */
async function badRequest(
  harness: PluginHarness,
  { plugin, bare, deadlineMs }: Plan,
  command: string,
): Promise<Judgement> {
  const schema = plugin.commands[command]?.inputSchema;
  const refusal = schema ? (await new PayloadChecks().of(schema))({}) : null;
  const said =
    refusal === null
      ? 'its input_schema accepts an empty payload'
      : `its input_schema refuses an empty payload (${refusal})`;
  const answer = await harness.ask(bare.instance, command, {}, deadlineMs);
  return [
    isAnswer(answer),
    `${said}; the plugin itself ${reaction(answer)}${isAnswer(answer) ? '' : stderrOf(answer)}`,
  ];
}

async function largeRequest(harness: PluginHarness, plan: Plan, command: string): Promise<Judgement> {
  const { bare, deadlineMs } = plan;
  const base = payloadOf(plan, command);
  const large = { ...(isObject(base) ? base : {}), padding: 'x'.repeat(largeChars) };
  const answer = await harness.ask(bare.instance, command, large, deadlineMs);
  return [isAnswer(answer), `given 1 MiB of extra text, it ${reaction(answer)}`];
}

async function deadline(harness: PluginHarness, plan: Plan, command: string): Promise<Judgement> {
  const answer = await harness.ask(plan.plugin.instance, command, payloadOf(plan, command), shortDeadlineMs);
  if (answer.verdict === 'lost') return [false, failed(answer)];
  if (answer.isReplaced)
    return [
      false,
      `it blocks its thread: at the deadline of ${shortDeadlineMs} ms it ignored the signal, and the thread was replaced`,
    ];
  if (answer.runMs >= shortDeadlineMs + killDelayMs)
    return [false, 'it ignores SIGTERM: it was killed 5 s after the deadline'];
  return [
    true,
    answer.verdict === 'timed_out'
      ? `ended at its deadline of ${shortDeadlineMs} ms`
      : `ended within ${shortDeadlineMs} ms`,
  ];
}

async function garbage(harness: PluginHarness, { plugin }: Plan): Promise<Judgement> {
  const { end, stdout } = await harness.feed(plugin, '{"this is": no request\n');
  if (end.kind === 'refused') return [false, end.reason];
  if (end.signal === 'SIGKILL') return [false, 'it did not exit within 5 s of the end of its stdin, and was killed'];
  if (isOk(stdout)) return [false, 'it answered ok to something that is not a request'];
  return [true, `ended with ${endText(end)}${stdout.trim() === '' ? '' : ', and an answer'}`];
}

function payloadOf({ plugin, payloads }: Plan, command: string): Json {
  return payloads[command] ?? generated(plugin, command);
}

function generated({ commands }: HostedPlugin, command: string): Json {
  const schema = commands[command]?.inputSchema;
  return schema ? sampleOf(schema) : {};
}

/** Whether the plugin's file could not be loaded, or has no function for the command. */
function isUnloaded({ plugin: { entrypoint } }: Plan, { error }: HarnessAnswer): boolean {
  return ['cannot be loaded: ', 'exports no function '].some(end => error.startsWith(`${entrypoint} ${end}`));
}

/** Whether the plugin answered. An error is an answer; silence and an invalid response are not. */
function isAnswer({ verdict, error }: HarnessAnswer): boolean {
  return verdict === 'ok' || (verdict === 'error' && !noAnswer.test(error));
}

function reaction(answer: HarnessAnswer): string {
  if (!isAnswer(answer)) return failed(answer);
  return answer.verdict === 'ok' ? 'answered ok' : `answered with an error: ${answer.error}`;
}

function failed({ verdict, error }: HarnessAnswer): string {
  if (verdict === 'lost') return `brought its host down: ${error}`;
  return verdict === 'timed_out' ? `did not answer: ${error}` : `failed: ${error}`;
}

function shown({ parts, runMs }: HarnessAnswer): string {
  const result = parts.result === undefined ? '' : `, with the result ${short(JSON.stringify(unpack(parts.result)))}`;
  const events = parts.events === undefined ? 0 : unpack<unknown[]>(parts.events).length;
  return ` in ${Math.round(runMs)} ms${result}${events === 0 ? '' : `, and ${countText(events, 'event')}`}`;
}

function stderrOf({ error, parts: { stderr } }: HarnessAnswer): string {
  const last = stderr === undefined ? '' : Buffer.from(stderr).toString().trimEnd().split('\n').at(-1)!;
  return last === '' || error.endsWith(last) ? '' : `; the end of its stderr: ${short(last)}`;
}

/** Where the error of a worker plugin was thrown, if the plugin threw one. */
function framesOf({ parts: { stderr } }: HarnessAnswer): string {
  const lines = stderr === undefined ? [] : Buffer.from(stderr).toString().split('\n');
  const frames = lines.flatMap(line => /^ +(at .*)/.exec(line)?.[1] ?? []);
  return frames.length === 0 ? '' : `; thrown ${short(frames.join(' '))}`;
}

function short(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
}

function isOk(stdout: string): boolean {
  try {
    return (JSON.parse(stdout) as { status?: unknown } | null)?.status === 'ok';
  } catch {
    return false;
  }
}
