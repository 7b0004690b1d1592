// Durations on the command line.
import { InvalidArgumentError } from 'commander';
import { parseDuration } from '../config/quantity.ts';

export function parseGrace(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('a duration looks like 500ms, 30s, 5m or 1h.');
  return ms;
}
