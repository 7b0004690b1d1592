// Writes the log to stderr, as lines of JSON or as text. The only file that imports pino.
import { type Logger, pino } from 'pino';
import { withSourceNames } from './source-names.ts';

export type { Logger };

/** `json`: one object per line, for programs. `text`: for people. */
export type LogFormat = 'json' | 'text';

/** How much text is kept while stderr accepts none, for example because it is a pipe that nobody reads, or a file on a full disk. */
const unwrittenBytesMax = 1_048_576;
/** How long after a full pipe refused a line the line is written again. */
const retryMs = 100;
/** How long the end of the process may wait for a full pipe to be read. */
const exitWaitMsMax = 1_000;

/**
 * Writes log lines to stderr. Their format can be changed at any time. Lines that stderr refuses are kept up to `unwrittenBytesMax`; further
 * lines are lost. A full pipe makes nobody wait before the process ends.
 */
export class LogSink {
  format: LogFormat;
  readonly #textOf: (line: string) => string;
  /** Until this time (of `performance.now()`), a write waits for a full pipe to be read. */
  #waitsUntilMs = 0;
  #retry: NodeJS.Timeout | null = null;
  readonly #stderr = pino.destination({
    dest: 2,
    sync: true,
    maxLength: unwrittenBytesMax,
    retryEAGAIN: () => performance.now() < this.#waitsUntilMs,
  });

  /** `textOf` converts a line of JSON to text, which may have several lines. */
  constructor(format: LogFormat, textOf: (line: string) => string) {
    this.format = format;
    this.#textOf = textOf;
    // Without a listener, `write` would throw the error into the code that logs.
    this.#stderr.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EAGAIN') this.#retry ??= setTimeout(() => this.#writeKept(), retryMs).unref();
    });
    process.on('exit', () => {
      this.#waitsUntilMs = performance.now() + exitWaitMsMax;
      this.#writeKept();
    });
  }

  /** Writes the lines that stderr has refused. */
  #writeKept(): void {
    this.#retry = null;
    this.#stderr.write('');
  }

  write(line: string): void {
    this.#stderr.write(this.format === 'json' ? line : this.#textOf(line));
  }
}

function err(error: Error): object {
  const { stack, ...more } = pino.stdSerializers.err(error);
  return { ...more, stack: withSourceNames(stack) };
}

/**
 * Opens a log that writes to `sink`. The log goes to stderr, because stdout is for the results of commands. `nameOf` returns the value of
 * the field `name` of each line.
 */
export function openLog(level: string, nameOf: () => string, sink: LogSink): Logger {
  return pino(
    {
      level,
      base: null,
      mixin: () => ({ name: nameOf() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err },
    },
    { write: line => sink.write(line) },
  );
}

/** Turns Node's warnings into log lines, and if the format is JSON, also all other text that is written to `process.stderr`. */
export function captureStderr(log: () => Logger, sink: LogSink): void {
  const direct = process.stderr.write.bind(process.stderr);
  process.stderr.write = ((chunk: Uint8Array | string, ...more: unknown[]) => {
    if (sink.format !== 'json') return (direct as (...words: unknown[]) => boolean)(chunk, ...more);
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
    for (const line of text.split('\n')) if (line.trim() !== '') log().warn({ from: 'stderr' }, line);
    const done = more.at(-1);
    if (typeof done === 'function') process.nextTick(done as () => void);
    return true;
  }) as typeof direct;
  process.removeAllListeners('warning');
  process.on('warning', warning => log().warn({ err: warning }, 'Node.js emitted a warning'));
}
