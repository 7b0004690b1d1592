// Calling something and, unless told otherwise, waiting for its job: what `plugin run` and `pipeline run` share.
import { InvalidArgumentError, Option } from 'commander';
import type { Call } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { usageFailure } from '../failure.ts';
import type { Io } from '../io.ts';
import type { Output } from '../output.ts';
import { parseMs } from '../quantity.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatMs, spanMs } from '../terminal/time.ts';
import type { AddressOptions } from './address.ts';
import { addressOptions, connect } from './connect.ts';
import { exitStatusOfJob, type Job } from './jobs.ts';
import { settledJob } from './waiting.ts';

export type CallOptions = AddressOptions & {
  readonly payload?: string;
  readonly async?: true;
  readonly timeout?: number;
  readonly idempotencyKey?: string;
};

export function callOptions(): Option[] {
  return [
    new Option('--payload <json>', 'what is handed over, a JSON object; "-" reads it from stdin'),
    new Option('--async', 'do not wait for the job'),
    new Option('--timeout <duration>', 'wait at most so long; the job goes on (exit status 5)').argParser(parseMs),
    new Option('--idempotency-key <key>', 'the same call with the same key runs once').argParser(checkKey),
    ...addressOptions(),
  ];
}

export const callStatuses =
  '0 the job succeeded (or was accepted, with --async), 1 it did not, 5 it, or waiting for it, timed out';

function checkKey(key: string): string {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new InvalidArgumentError('a key has 1 to 255 visible ASCII characters.');
  return key;
}

type Accepted = { readonly job_id: string; readonly status: string; readonly plugin: string; readonly command: string };

/** Resolves with the exit status. */
export async function callAndWait(path: string, call: Call<CallOptions>): Promise<number> {
  const { options, io, out } = call;
  const payload = await readPayload(options.payload, io);
  const client = await connect(call);
  const headers = options.idempotencyKey === undefined ? {} : { 'Idempotency-Key': options.idempotencyKey };
  const accepted = await client.post<Accepted>(path, payload === undefined ? {} : { payload }, headers);
  if (options.async) {
    await out.answer(accepted, () => [accepted.job_id]);
    return exitStatus.ok;
  }
  const job = await settledJob(client, accepted.job_id, options.timeout ?? null, out);
  await showEnd(job, out);
  return exitStatusOfJob(job.status);
}

async function readPayload(text: string | undefined, io: Io): Promise<unknown> {
  if (text === undefined) return undefined;
  let json = text;
  if (text === '-') {
    const chunks: Buffer[] = [];
    for await (const chunk of io.stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
    json = decoded(Buffer.concat(chunks));
  }
  try {
    return JSON.parse(json);
  } catch (error) {
    throw usageFailure(`--payload is not JSON: ${(error as Error).message}`);
  }
}

function decoded(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageFailure('--payload is not UTF-8 text');
  }
}

/** The result on stdout; what is to be known about the job on stderr. */
async function showEnd(job: Job, out: Output): Promise<void> {
  const tookMs = spanMs(job.created_at, job.completed_at);
  for (const { level, message } of job.result?.logs ?? []) out.note(`${level}: ${message}`);
  out.note([`job ${job.job_id} `, statusPiece(job.status), tookMs === null ? '' : ` after ${formatMs(tookMs)}`]);
  if (job.last_error !== undefined) out.note(job.last_error);
  if (out.json) return out.answer(job, () => []);
  const value = job.result?.result;
  if (value !== undefined && value !== null) await out.verbatim(resultText(value));
}

export function resultText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
