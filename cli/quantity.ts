// Quantities among the command's options.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/quantity.ts';

/** A duration in milliseconds. */
export function parseMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('a duration looks like 500ms, 30s, 5m or 1h.');
  return ms;
}
