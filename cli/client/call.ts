// Submits a job or a batch and, depending on the options, waits for a single job.
import { Option } from 'commander';
import type { TextOptions } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure } from '../failure.ts';
import type { Output } from '../output.ts';
import { readBytesOption, readJsonOption } from '../payload.ts';
import { matching, parseMs } from '../quantity.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatMs, spanMs } from '../terminal/time.ts';
import { queryText } from './client.ts';
import type { ClientCall } from './connect.ts';
import { exitStatusOfJob, type JobDocument, unsuccessfulText } from './jobs.ts';
import { type TagOptions, tagOption, tagsOf } from './tags.ts';
import { settledJob } from './waiting.ts';

/** The options for the times of a job, as texts that the service parses. */
type TimeOptions = TextOptions<'runAt' | 'delay' | 'expires' | 'deadline'>;
type SubmitOptions = TimeOptions & TextOptions<'payload' | 'idempotencyKey'> & { readonly timeout?: number };
export type CommandOptions = SubmitOptions & TagOptions & { readonly async?: true; readonly batch?: string };

const checkKey = matching(/^[\x21-\x7e]{1,255}$/, 'a key has 1 to 255 visible ASCII characters.');
/** Further options of each call that submits a job. */
const submitOptions = [
  new Option(
    '--timeout <duration>',
    'how long to wait; after that the exit status is 5, and the job keeps running',
  ).argParser(parseMs),
  new Option('--idempotency-key <key>', 'calls with the same key run once').argParser(checkKey),
];
const timeOptions = [
  new Option('--delay <duration>', 'run it after this time, such as 10m; do not wait for it').conflicts(['runAt']),
  new Option('--run-at <time>', 'run it at this time, such as 2026-12-01T06:00:00Z; do not wait for it'),
  new Option('--expires <duration>', 'cancel it if it has not started after this time'),
  new Option('--deadline <duration>', 'end it as timed_out if it has not ended after this time'),
];

/** The times under their names in the API. */
function timesOf({ runAt, delay, expires, deadline }: TimeOptions) {
  return { run_at: runAt, delay, expires, deadline };
}

export function callOptions(): Option[] {
  return [
    new Option('--payload <json>', 'the payload, a JSON object; @FILE reads it from a file, - from stdin'),
    new Option('--async', 'do not wait for the job'),
    new Option(
      '--batch <file>',
      'start one job for each line of the file: the line is its payload. - reads stdin. Prints the ids',
    ).conflicts(['payload', 'async', 'timeout']),
    ...timeOptions,
    tagOption('a tag of the job and of all jobs that descend from it'),
    ...submitOptions,
  ];
}

export type RerunOptions = SubmitOptions &
  TagOptions & {
    readonly from?: 'start' | 'failed';
    readonly reason?: string;
    readonly wait?: true;
  };

export function rerunOptions(): Option[] {
  return [
    new Option(
      '--payload <json>',
      'a new payload, a JSON object; @FILE reads it from a file, - from stdin (default: the old payload)',
    ),
    new Option('--reason <text>', 'why; shown with the new job'),
    new Option('--wait', 'wait for the new job, and print its result'),
    ...timeOptions,
    ...submitOptions,
  ];
}

export const callStatuses =
  '0 the job succeeded (with --async, --batch, --delay or --run-at: was accepted), 1 the job failed, 5 the job or the wait for it timed out, 6 the job was cancelled, 69 the queue had no room for all of a batch';

type AcceptedJob = Pick<JobDocument, 'job_id' | 'status' | 'plugin' | 'command'>;

/**
 * Submits one job, and waits for its end unless `--async`, `--delay` or `--run-at` is given. With `--batch`, submits one job for each
 * non-blank line of a file, and does not wait. `query` is added to the path of a single call. Resolves with the exit status.
 */
export function callAndWait(path: string, call: ClientCall<CommandOptions>, query = ''): Promise<number> {
  const { batch, async: isAsync, delay, runAt } = call.options;
  const waits = isAsync !== true && delay === undefined && runAt === undefined;
  if (batch !== undefined) return submitBatch(path, batch, call);
  return submit(path + query, { tags: tagsOf(call.options) }, call, waits);
}

type AcceptedBatch = { readonly job_ids: readonly string[]; readonly accepted: number };

async function submitBatch(path: string, file: string, call: ClientCall<CommandOptions>): Promise<number> {
  const { client, io, out } = call;
  const lines = await readBytesOption('--batch', file, io);
  const headers = { 'Content-Type': 'application/x-ndjson', ...keyHeader(call.options) };
  const { tag } = call.options;
  const target = `${path}/batch${queryText({ ...timesOf(call.options), tag })}`;
  const payloadLines = linesOfPayloads(lines);
  const sent = client.post<AcceptedBatch>(target, { job_ids: true, accepted: true }, lines, { headers });
  const answer = await sent.catch(error => {
    throw error instanceof CommandFailure ? withLines(error, file, payloadLines) : error;
  });
  await out.answer(answer, () => answer.job_ids);
  const given = payloadLines.length;
  if (answer.accepted === given) return exitStatus.ok;
  out.note(`the queue is full: the first ${answer.accepted} of ${given} payloads were accepted`);
  return exitStatus.unavailable;
}

/** The numbers of the lines that are not blank. Each of them is a payload. */
function linesOfPayloads(bytes: Uint8Array): number[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  return text.split('\n').flatMap((line, index) => (/[^ \t\r]/.test(line) ? [index + 1] : []));
}

/** The refusal with one line of text per wrong payload. Each begins with the payload's place in the file, `file:line`, instead of its index. */
function withLines(refusal: CommandFailure, file: string, lines: readonly number[]): CommandFailure {
  const { exitStatus: status, problem, hint } = refusal;
  const wrong = (problem.errors ?? []).flatMap(({ index, pointer = '', message }) => {
    if (index === undefined) return [];
    const what = pointer === '' || message.includes(pointer) ? message : `${pointer} ${message}`;
    return [`${file === '-' ? 'stdin' : file}:${lines[index]}: ${what}`];
  });
  if (wrong.length === 0) return refusal;
  return new CommandFailure(status, { ...problem, detail: wrong.join('\n') }, refusal, hint);
}

function keyHeader({ idempotencyKey }: SubmitOptions): { readonly [name: string]: string } {
  return idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
}

/** Runs a settled job again. Resolves with the exit status. */
export function rerun(path: string, call: ClientCall<RerunOptions>): Promise<number> {
  const { from, reason, wait } = call.options;
  return submit(path, { from, reason, tags: tagsOf(call.options) }, call, wait === true);
}

/** Submits a job. If `waits`, waits until the job has ended and shows its result; otherwise prints its id. Resolves with the exit status. */
export async function submit(
  path: string,
  body: object,
  call: ClientCall<SubmitOptions>,
  waits: boolean,
): Promise<number> {
  const { options, client, io, out } = call;
  const payload = options.payload === undefined ? undefined : await readJsonOption('--payload', options.payload, io);
  const others = { ...body, ...timesOf(options) };
  const given = payload === undefined ? others : withPayload(payload.text, others);
  const accepted = await client.post<AcceptedJob>(path, { job_id: true }, given, { headers: keyHeader(options) });
  if (!waits) {
    await out.answer(accepted, () => [accepted.job_id]);
    return exitStatus.ok;
  }
  const job = await settledJob(client, accepted.job_id, options.timeout ?? null, out);
  await showEnd(job, out);
  return exitStatusOfJob(job.status);
}

/** The body of a request, as bytes. The text of the payload is sent unchanged, because parsing it would drop one of two equal keys. */
function withPayload(payload: string, others: object): Uint8Array {
  const rest = JSON.stringify(others).slice(1);
  return Buffer.from(`{"payload":${payload}${rest === '}' ? '' : ','}${rest}`);
}

/** Prints the result, or with `--json` the job, on stdout, and notes about the job on stderr. */
async function showEnd(job: JobDocument, out: Output): Promise<void> {
  const tookMs = spanMs(job.created_at, job.completed_at);
  for (const { level, message } of job.result?.logs ?? []) out.note(`${level}: ${message}`);
  const inside = unsuccessfulText(job);
  out.note([
    `job ${job.job_id} `,
    statusPiece(job.status),
    tookMs === null ? '' : ` after ${formatMs(tookMs)}`,
    inside === null ? '' : { text: `${job.status === 'succeeded' ? ', but ' : ': '}${inside}`, style: 'red' },
  ]);
  if (job.last_error !== undefined) out.note(job.last_error);
  if (out.json) return out.answer(job, () => []);
  const value = job.result?.result;
  if (value !== undefined && value !== null) await out.verbatim(resultText(value));
}

export function resultText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
