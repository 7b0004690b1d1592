// An answer as a handler gives it: whole, or streamed as fast as its reader takes it.
import type { Sink } from '../service/reads/reads.ts';
import type { Problem } from './problem.ts';

export type Headers = readonly (readonly [name: string, value: string])[];
export type Answer =
  /** Bytes are JSON that was written before. */
  | { readonly kind: 'json'; readonly status: number; readonly body: string | Uint8Array; readonly headers?: Headers }
  /** 304: the caller has it. */
  | { readonly kind: 'unchanged'; readonly headers: Headers }
  | {
      readonly kind: 'stream';
      readonly status: number;
      readonly contentType: string;
      readonly headers?: Headers;
      /** Not called for HEAD. */
      open(sink: Sink): void;
    }
  | Problem;

export function json(status: number, body: string): Answer {
  return { kind: 'json', status, body };
}
