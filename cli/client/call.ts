// Submits a job or a batch, and waits for a single job if that is wanted: the common part of `plugin run`, `pipeline run` and `job rerun`.
import { Option } from 'commander';
import { exitStatus } from '../exit-status.ts';
import type { Output } from '../output.ts';
import { readBytesOption, readJsonOption } from '../payload.ts';
import { matching, parseMs } from '../quantity.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatMs, spanMs } from '../terminal/time.ts';
import type { ClientCall } from './connect.ts';
import { exitStatusOfJob, type JobDocument, unsuccessfulText } from './jobs.ts';
import { settledJob } from './waiting.ts';

type SubmitOptions = {
  readonly payload?: string;
  readonly timeout?: number;
  readonly idempotencyKey?: string;
};
export type CallOptions = SubmitOptions & { readonly async?: true; readonly batch?: string };

const submitOptions = {
  payload: ['--payload <json>', 'the payload, a JSON object; @FILE reads it from a file, - from stdin'],
  timeout: ['--timeout <duration>', 'how long to wait; after that the exit status is 5, and the job keeps running'],
  key: ['--idempotency-key <key>', 'calls with the same key run once'],
} as const;

export function callOptions(): Option[] {
  return [
    new Option(...submitOptions.payload),
    new Option('--async', 'do not wait for the job'),
    new Option(
      '--batch <file>',
      'one job for each line of a file, which is a payload; - reads stdin. It prints the ids',
    ).conflicts(['payload', 'async', 'timeout']),
    new Option(...submitOptions.timeout).argParser(parseMs),
    new Option(...submitOptions.key).argParser(checkKey),
  ];
}

export type RerunOptions = SubmitOptions & {
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
    new Option(...submitOptions.timeout).argParser(parseMs),
    new Option(...submitOptions.key).argParser(checkKey),
  ];
}

export const callStatuses =
  '0 the job succeeded (with --async or --batch: was accepted), 1 the job failed, 5 the job or the wait for it timed out, 6 the job was cancelled, 69 the queue had no room for all of a batch';

const checkKey = matching(/^[\x21-\x7e]{1,255}$/, 'a key has 1 to 255 visible ASCII characters.');

type AcceptedJob = {
  readonly job_id: string;
  readonly status: string;
  readonly plugin: string;
  readonly command: string;
};

/** Submits one job, or with `--batch` many. `query` is added to the path of a single call. Resolves with the exit status. */
export function callAndWait(path: string, call: ClientCall<CallOptions>, query = ''): Promise<number> {
  const { batch, async: isAsync } = call.options;
  return batch === undefined ? submit(path + query, {}, call, isAsync !== true) : submitBatch(path, batch, call);
}

type AcceptedBatch = { readonly job_ids: readonly string[]; readonly accepted: number };

async function submitBatch(path: string, file: string, call: ClientCall<CallOptions>): Promise<number> {
  const { client, io, out } = call;
  const lines = await readBytesOption('--batch', file, io);
  const headers = { 'Content-Type': 'application/x-ndjson', ...keyHeader(call.options) };
  const answer = await client.post<AcceptedBatch>(`${path}/batch`, { job_ids: true, accepted: true }, lines, headers);
  await out.answer(answer, () => answer.job_ids);
  const given = countLines(lines);
  if (answer.accepted === given) return exitStatus.ok;
  out.note(`the queue is full: the first ${answer.accepted} of ${given} payloads were accepted`);
  return exitStatus.unavailable;
}

/** Counts the lines with a payload, which are those that are not blank. */
function countLines(bytes: Uint8Array): number {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  return text.split('\n').filter(line => line.trim() !== '').length;
}

function keyHeader({ idempotencyKey }: SubmitOptions): { readonly [name: string]: string } {
  return idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey };
}

/** Runs a settled job again. Resolves with the exit status. */
export function rerun(path: string, call: ClientCall<RerunOptions>): Promise<number> {
  const { from, reason, wait } = call.options;
  return submit(path, { ...(from && { from }), ...(reason !== undefined && { reason }) }, call, wait === true);
}

async function submit(path: string, body: object, call: ClientCall<SubmitOptions>, waits: boolean): Promise<number> {
  const { options, client, io, out } = call;
  const payload = options.payload === undefined ? undefined : await readJsonOption('--payload', options.payload, io);
  const given = payload === undefined ? body : { ...body, payload };
  const accepted = await client.post<AcceptedJob>(path, { job_id: true }, given, keyHeader(options));
  if (!waits) {
    await out.answer(accepted, () => [accepted.job_id]);
    return exitStatus.ok;
  }
  const job = await settledJob(client, accepted.job_id, options.timeout ?? null, out);
  await showEnd(job, out);
  return exitStatusOfJob(job.status);
}

/** Prints the result on stdout, and notes about the job on stderr. */
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
