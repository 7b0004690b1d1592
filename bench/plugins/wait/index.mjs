// Waits 10 ms without using the CPU.
import { setTimeout as pause } from 'node:timers/promises';

export async function run() {
  await pause(10);
  return { result: null };
}
