// A log line for people: time, level, message, then other fields as `name=value`. The name of the service is left out.
import { printable, printableBlock } from './text.ts';

const levels: { readonly [level: number]: string } = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
};

/** Converts a line of JSON to text. The stack of an error follows on further lines. */
export function logLine(json: string): string {
  const { time, level, msg = '', name: _, err, ...fields } = JSON.parse(json) as LogEntry;
  const words = Object.entries({ ...fields, ...(err && { err: err.message }) }).map(
    ([key, value]) =>
      `${key}=${typeof value === 'string' && /^[\w.:/@-]+$/.test(value) ? value : JSON.stringify(value)}`,
  );
  const head = [time, (levels[level] ?? String(level)).padEnd(5), msg, ...words].join(' ');
  const stack = err?.stack === undefined ? '' : `${printableBlock(err.stack)}\n`;
  return `${printable(head)}\n${stack}`;
}

type LogEntry = {
  readonly time: string;
  readonly level: number;
  readonly msg?: string;
  readonly name?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
  readonly [field: string]: unknown;
};
