// The bare loop beside which a process for each attempt is measured: nothing but starting a program, asking it and reading its answer.
import { spawn } from 'node:child_process';

/** Runs the program so often, so many at a time; resolves with how many a second. Throws when one does not answer. */
export async function spawnLoop(program: string, request: string, count: number, atOnce: number): Promise<number> {
  let left = count;
  const startMs = performance.now();
  const loop = async () => {
    while (left-- > 0) await runOnce(program, request);
  };
  await Promise.all(Array.from({ length: atOnce }, loop));
  return (count * 1000) / (performance.now() - startMs);
}

function runOnce(program: string, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [], { detached: true, stdio: 'pipe' });
    let said = '';
    child.stdout.on('data', chunk => {
      said += chunk;
    });
    child.stderr.resume();
    child.stdin.on('error', () => {});
    child.stdin.end(`${request}\n`);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (said.includes('"status"')) resolve();
      else reject(new Error(`${program} does not answer (${signal ?? code}): ${said}`));
    });
  });
}
