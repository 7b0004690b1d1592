// A process that /proc hides from its own user (hidepid, and no inspection allowed) is not taken for gone.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const at = (name: string) => fileURLToPath(new URL(`../../../dist/runtime/${name}.js`, import.meta.url));
const child = `
const { forbidInspection } = await import('${at('inspection')}');
process.stdin.once('data', async () => { await forbidInspection(); console.log('closed'); });
console.log('up');
`;
const parent = `
const { spawn } = await import('node:child_process');
const { once } = await import('node:events');
const { existsSync } = await import('node:fs');
const { identify, isAlive } = await import('${at('process')}');
const child = spawn(process.execPath, ['--input-type=module', '-e', process.env.CHILD], { stdio: ['pipe', 'pipe', 'inherit'] });
const shows = () => existsSync('/proc/' + child.pid);
await once(child.stdout, 'data');
const known = identify(child.pid);
const open = [shows(), isAlive(known)];
child.stdin.write('close');
await once(child.stdout, 'data');
const closed = [shows(), isAlive(known)];
child.kill('SIGKILL');
await once(child, 'exit');
console.log(JSON.stringify({ open, closed, gone: [shows(), isAlive(known)] }));
`;
const mount = 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"';

/** Runs code as another user, with a /proc of its own. */
function runHidden(...words: string[]): { readonly status: number | null; readonly stdout: string } {
  const line = ['--mount', 'sh', '-c', mount, 'sh', process.execPath, '--input-type=module', '-e', ...words];
  return spawnSync('unshare', line, { encoding: 'utf8', env: { ...process.env, CHILD: child } });
}

const canRun = process.getuid?.() === 0 && runHidden(`await import('${at('process')}')`).status === 0;
if (!canRun) process.stderr.write('SKIPPED: a /proc that hides processes needs root, unshare and setpriv\n');

test.runIf(canRun)('it is alive while it lives, though nothing of it can be seen', () => {
  const { stdout } = runHidden(parent);
  expect(JSON.parse(stdout)).toEqual({ open: [true, true], closed: [false, true], gone: [false, false] });
});
