// Waits for the configured time without using the CPU, and returns its number.
import { setTimeout as pause } from 'node:timers/promises';

export async function run({ payload, config }) {
  await pause(config.ms);
  return { result: { n: payload.n } };
}
