// Takes 10 ms, and none of the processor.
import { setTimeout as pause } from 'node:timers/promises';

export async function run() {
  await pause(10);
  return { result: null };
}
