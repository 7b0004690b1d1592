// Runs the load client in a process of its own, so that it shares no thread with the measuring code.
import { spawn } from 'node:child_process';
import { loadFile } from '../project.ts';
import type { LoadPlan, LoadResult } from './plan.ts';

/** The service that receives the load. */
export type Loaded = { readonly url: URL; readonly token: string };

/** Runs the load. Throws if a response is not as the plan expects. */
export async function runLoad(service: Loaded, plan: Omit<LoadPlan, 'url' | 'token'>): Promise<LoadResult> {
  const whole: LoadPlan = { ...plan, url: service.url.href, token: service.token };
  const result = JSON.parse(await outputOf(process.execPath, [loadFile, JSON.stringify(whole)])) as LoadResult;
  if (Object.keys(result.refused).length > 0) {
    throw new Error(`${plan.path}: unexpected responses: ${JSON.stringify(result.refused)}`);
  }
  return result;
}

/** The output of a program. Rejects if its exit status is not 0. */
export function outputOf(program: string, parameters: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'inherit'] });
    const end = () => child.kill('SIGKILL');
    process.once('exit', end);
    const chunks: Buffer[] = [];
    child.stdout.on('data', chunk => chunks.push(chunk));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      process.off('exit', end);
      if (code === 0) resolve(Buffer.concat(chunks).toString());
      else reject(new Error(`${program} ended with ${code ?? signal}`));
    });
  });
}
