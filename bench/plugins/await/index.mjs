// Waits as long as its config says, and takes none of the processor meanwhile. Hands its number back.
import { setTimeout as pause } from 'node:timers/promises';

export async function run({ payload, config }) {
  await pause(config.ms);
  return { result: { n: payload.n } };
}
