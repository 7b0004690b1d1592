// The baseline for a process per attempt: a loop that starts a program, sends it a request and reads its answer.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { outputOf } from './load/run.ts';

type Loop = {
  readonly program: string;
  /** The program's stdin. */
  readonly request: string;
  readonly count: number;
  readonly atOnce: number;
};

const self = fileURLToPath(import.meta.url);

/**
 * Runs the loop in a process of its own, because starts are slower in a large process. Resolves with starts per second.
 * Rejects if a program does not answer.
 */
export async function spawnLoop(loop: Loop): Promise<number> {
  return Number(await outputOf(process.execPath, [self, JSON.stringify(loop)]));
}

/**
 * Makes a fifth as many starts first, as a warm-up, so that code is compiled. Resolves with the number of starts per
 * second.
 */
async function run({ program, request, count, atOnce }: Loop): Promise<number> {
  const warmup = Math.ceil(count / 5);
  let left = warmup;
  const loop = async () => {
    while (left-- > 0) await runOnce(program, request);
  };
  const all = () => Promise.all(Array.from({ length: atOnce }, loop));
  await all();
  left = count;
  const startMs = performance.now();
  await all();
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

if (process.argv[1] === self) process.stdout.write(String(await run(JSON.parse(process.argv[2]!))));
