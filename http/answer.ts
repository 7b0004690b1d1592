// An answer as a handler gives it: whole, or streamed as fast as its reader takes it.
import type { Problem } from './problem.ts';

/** Where the streamed part of an answer goes. What a callback of it throws ends the answer, not the process. */
export interface Sink {
  /**
   * False: the reader is slower than this, and what waits for it grows. A write of less than 16 KiB may not tell yet; then the next
   * one does. A reader who takes nothing for some ten seconds is let go.
   */
  write(text: string): boolean;
  /** Calls once, when there is room to write, and never before this returns. */
  onReady(resume: () => void): void;
  end(): void;
}

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
