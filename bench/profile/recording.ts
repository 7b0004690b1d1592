// The profiles of a service while it runs: how it is started for them, and how they are asked for.
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { pause } from '../pause.ts';
import { preloadFile } from '../project.ts';
import { pendingSuffix, signal } from './files.ts';

const writtenMsMax = 20_000;

/** Options of node that have every thread of a service profiled into a folder. */
export function profilingOptions(directory: string): string[] {
  const preload = pathToFileURL(preloadFile);
  preload.searchParams.set('directory', pathToFileURL(directory).href);
  return ['--import', preload.href];
}

/** Resolves when all threads have written what they have, or those that still have not are held by what they run. */
export async function endProfiles(pid: number, directory: string): Promise<void> {
  const endMs = performance.now() + writtenMsMax;
  process.kill(pid, signal);
  while (readdirSync(directory).some(name => name.endsWith(pendingSuffix)) && performance.now() < endMs) await pause(5);
}
