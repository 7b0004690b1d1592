// Profiles a running service: the options for its start, and the request to write the profiles.
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { pause } from '../pause.ts';
import { preloadFile } from '../project.ts';
import { pendingSuffix, signal } from './files.ts';

const writtenMsMax = 20_000;

/** The options of node that write a profile of every thread of a service into a directory. */
export function profilingOptions(directory: string): string[] {
  const preload = pathToFileURL(preloadFile);
  preload.searchParams.set('directory', pathToFileURL(directory).href);
  return ['--import', preload.href];
}

/**
 * Makes the threads write their profiles. Resolves when all have done so, or after 20 s, because a thread that is
 * blocked by its code writes none.
 */
export async function endProfiles(pid: number, directory: string): Promise<void> {
  const endMs = performance.now() + writtenMsMax;
  process.kill(pid, signal);
  while (readdirSync(directory).some(name => name.endsWith(pendingSuffix)) && performance.now() < endMs) await pause(5);
}
