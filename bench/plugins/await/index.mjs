// Waits for the configured time without using the CPU, and returns the number in the payload.
import { setTimeout as pause } from 'node:timers/promises';

export async function run({ payload, config }) {
  await pause(config.ms);
  return { result: { n: payload.n } };
}
