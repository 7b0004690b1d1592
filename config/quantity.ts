// Durations (`250ms 30s 5m 24h 7d`), sizes (`512KB 1MB 1GB`) and listen addresses (`127.0.0.1:8080`) as text.
import type { ListenAddress } from './config.ts';

const unitMs: { readonly [unit: string]: number } = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitBytes: { readonly [unit: string]: number } = { '': 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };

// The JSON Schemas contain these patterns as well, so that editors apply the same rules.
export const durationPattern = '^[0-9]{1,9}(ms|s|m|h|d)$';
export const sizePattern = '^[1-9]([0-9]{0,11}(KB|MB)?|[0-9]{0,8}GB)$';
export const listenPattern = '^([A-Za-z0-9._-]+|\\[[0-9A-Fa-f:.%]+\\]):[0-9]{1,5}$';

/** Parses a duration to milliseconds; undefined if the text is not a duration. */
export function parseDuration(text: string | undefined): number | undefined {
  return measured(text, durationPattern, unitMs);
}

/** The duration in the largest unit in which it is a whole number; 0 is `0ms`. */
export function formatDuration(ms: number): string {
  const fitting = Object.entries(unitMs).findLast(([, size]) => ms % size === 0);
  return fitting && ms > 0 ? `${ms / fitting[1]}${fitting[0]}` : `${ms}ms`;
}

/** Parses a size to bytes; undefined if the value is not a size. A number is in bytes. Units are powers of 1024. */
export function parseSize(text: string | number | undefined): number | undefined {
  if (typeof text === 'number') return Number.isSafeInteger(text) && text > 0 ? text : undefined;
  return measured(text, sizePattern, unitBytes);
}

/** Parses a number with a unit; undefined if the text does not match the pattern. */
function measured(text: string | undefined, pattern: string, units: { readonly [unit: string]: number }) {
  if (text === undefined || !new RegExp(pattern).test(text)) return undefined;
  const digits = /^[0-9]+/.exec(text)![0];
  return Number(digits) * units[text.slice(digits.length)]!;
}

/** Parses `host:port`; an IPv6 host is in brackets. Port 0 means any free port. */
export function parseListen(text: string | undefined): ListenAddress | undefined {
  if (text === undefined || !new RegExp(listenPattern).test(text)) return undefined;
  const colon = text.lastIndexOf(':');
  const port = Number(text.slice(colon + 1));
  return port > 65_535 ? undefined : { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port };
}

/** The inverse of `parseListen`. */
export function formatListen({ host, port }: ListenAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
