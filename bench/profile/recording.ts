// Profiles a running service: the options for its start, and the request to write the profiles.
import { readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { pause } from '../pause.ts';
import { preloadFile } from '../project.ts';
import { pendingSuffix, signal } from './files.ts';

const writtenMsMax = 20_000;

/** Options of node that profile every thread of a service into a directory. */
export function profilingOptions(directory: string): string[] {
  const preload = pathToFileURL(preloadFile);
  preload.searchParams.set('directory', pathToFileURL(directory).href);
  return ['--import', preload.href];
}

/** Resolves when all threads have written their profiles, or the others are blocked by their code. */
export async function endProfiles(pid: number, directory: string): Promise<void> {
  const endMs = performance.now() + writtenMsMax;
  process.kill(pid, signal);
  while (readdirSync(directory).some(name => name.endsWith(pendingSuffix)) && performance.now() < endMs) await pause(5);
}
