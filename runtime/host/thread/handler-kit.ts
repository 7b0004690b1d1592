// The second argument of a handler. Its parts are created when the handler accesses them, so an unused part costs nothing.

import type { EmittedEvent, Helpers, LogLevel, LogLine, Span } from '../api/plugin-api.ts';
import { spansMax } from '../wire/packed-spans.ts';
import { type HelperOutput, logLinesMax, readEvent, readLog } from '../wire/response.ts';

export class HandlerKit implements Helpers {
  #controller: AbortController | null = null;
  #events: EmittedEvent[] | null = null;
  #logs: LogLine[] | null = null;
  #spans: Span[] | null = null;
  #closed = false;
  /** Why the signal has fired; null if it has not. */
  #ended: DOMException | null = null;

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#ended !== null) this.#controller.abort(this.#ended);
    return this.#controller.signal;
  }

  get log(): (level: LogLevel, message: string) => void {
    return (level, message) => {
      if (this.#closed) return;
      this.#logs ??= [];
      // One line beyond the limit is kept, so that `capLogs` (wire/response.ts) notices that lines were cut.
      if (this.#logs.length <= logLinesMax) this.#logs.push(readLog({ level, message: String(message) }, 'log'));
    };
  }

  get span(): (name: string) => () => void {
    return name => {
      const startedMs = performance.now();
      let ended = false;
      return () => {
        if (ended || this.#closed) return;
        ended = true;
        this.#spans ??= [];
        const dur_ns = Math.round((performance.now() - startedMs) * 1e6);
        if (this.#spans.length < spansMax) this.#spans.push({ name: String(name), dur_ns });
      };
    };
  }

  get emit(): (event: EmittedEvent) => void {
    return event => {
      const read = readEvent(event, 'event');
      if (this.#closed) return;
      this.#events ??= [];
      this.#events.push(read);
    };
  }

  expire(): void {
    this.#end(new DOMException('The deadline of the attempt has passed.', 'TimeoutError'));
  }

  cancel(reason: string): void {
    this.#end(new DOMException(reason, 'AbortError'));
  }

  #end(why: DOMException): void {
    this.#ended ??= why;
    this.#controller?.abort(this.#ended);
  }

  /**
   * Must be called when the attempt has ended. Returns the events, logs and spans that the handler has passed to its helpers; undefined if
   * there are none. Later ones are dropped.
   */
  close(): HelperOutput | undefined {
    this.#closed = true;
    if (this.#events === null && this.#logs === null && this.#spans === null) return undefined;
    return { events: this.#events ?? [], logs: this.#logs ?? [], spans: this.#spans ?? [] };
  }
}
