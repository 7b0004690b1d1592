// The answer of a handler: complete, or streamed at the speed of its reader.
import type { Engine } from '../service/engine.ts';
import { type JsonPart, jsonChunks } from '../service/json/chunks.ts';
import { type AnswerSink, type Disconnectable, type Read, ReadsDown, readsDownDetail } from '../service/reads/reads.ts';
import { type HttpProblem, problem } from './problem.ts';

export type Headers = readonly (readonly [name: string, value: string])[];
export type Answer =
  /** A complete answer. Without `contentType`, its body is JSON. */
  | {
      readonly kind: 'json';
      readonly status: number;
      readonly body: string | Uint8Array;
      readonly contentType?: string;
      readonly headers?: Headers;
    }
  /** The answer 304: the copy that the caller has is still valid. */
  | { readonly kind: 'unchanged'; readonly headers: Headers }
  | {
      readonly kind: 'stream';
      /** Default: 200. */
      readonly status?: number;
      /** Default: JSON. */
      readonly contentType?: string;
      readonly headers?: Headers;
      /** Begins to write the body to `sink`. Not called for HEAD. */
      open(sink: AnswerSink): void;
    }
  | HttpProblem;

export function json(status: number, body: string): Answer {
  return { kind: 'json', status, body };
}

/** Encodes all parts at once, on the calling thread. For small answers only. */
export function smallAnswer(parts: Iterable<JsonPart>, status = 200): Answer {
  return json(status, [...jsonChunks(parts)].join(''));
}

export function withHeaders(answer: Answer, headers: Headers): Answer {
  return headers.length === 0 ? answer : { ...answer, headers: [...(answer.headers ?? []), ...headers] };
}

/** The refusal of a read that failed because the reads thread is down. Throws any other error. */
export function unlessDown(error: unknown): HttpProblem {
  if (error instanceof ReadsDown) return problem('unavailable', readsDownDetail);
  throw error;
}

/**
 * Answers with the result of a read on the reads thread, or with a problem if the read is refused. The read sees every commit of the ledger
 * that preceded the call; the index may lag behind the ledger.
 */
export async function answerRead(
  call: Disconnectable & { readonly engine: Pick<Engine, 'reads'> },
  read: Read,
  status = 200,
): Promise<Answer> {
  const answer = await call.engine.reads.answer(read, call);
  switch (answer.kind) {
    case 'whole':
      return json(status, answer.text);
    case 'pieces':
      return { kind: 'stream', status, open: sink => answer.open(sink) };
    case 'refused':
      return problem(answer.refusal, answer.detail);
  }
}
