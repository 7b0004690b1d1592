// The answer of a handler: complete, or streamed at the speed of its reader.
import type { AnswerSink } from '../service/reads/reads.ts';
import type { HttpProblem } from './problem.ts';

export type Headers = readonly (readonly [name: string, value: string])[];
export type Answer =
  /** A body of bytes is JSON that is already encoded. */
  | { readonly kind: 'json'; readonly status: number; readonly body: string | Uint8Array; readonly headers?: Headers }
  /** 304. */
  | { readonly kind: 'unchanged'; readonly headers: Headers }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly contentType: string;
      readonly headers?: Headers;
      /** Not called for HEAD. */
      open(sink: AnswerSink): void;
    }
  | HttpProblem;

export function json(status: number, body: string): Answer {
  return { kind: 'json', status, body };
}
