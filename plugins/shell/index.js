// shell: runs the program that its config names. No shell interprets the command line, and no part of the payload enters it.
import { spawn } from 'node:child_process';
import { outputOf } from './output.js';
import { killTree } from './process-tree.js';

/** EX_CONFIG: by convention a failure that a retry would meet again. */
const permanentStatus = 78;
const outputBytesDefault = 2 ** 20;
const outputBytesMax = 16 * 2 ** 20;

/** @typedef {{ command: string, args: readonly string[], directory: string | undefined, outputBytesMax: number }} Settings */

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export async function handle({ event, config }, { signal }) {
  const { command, args, directory, outputBytesMax: bytesMax } = readSettings(config);
  const child = spawn(command, args, { cwd: directory, stdio: 'pipe', shell: false });
  const kill = () => killTree(child.pid);
  signal.addEventListener('abort', kill, { once: true });
  const [stdout, stderr] = [outputOf(child.stdout, bytesMax, kill), outputOf(child.stderr, bytesMax, kill)];
  // The program may exit without reading its input.
  child.stdin.on('error', () => {});
  child.stdin.end(`${JSON.stringify(event?.payload ?? null)}\n`);
  const end = await new Promise((settle, reject) => {
    child.on('error', error =>
      reject(Object.assign(new Error(`cannot start ${command}: ${error.message}`), { retry: false })),
    );
    child.on('exit', (status, by) => settle({ status, by }));
  });
  signal.removeEventListener('abort', kill);
  if (signal.aborted) throw signal.reason;
  const result = { exit_status: end.status, stdout: await stdout.text(), stderr: await stderr.text() };
  if (stdout.isCut || stderr.isCut)
    return { status: 'error', error: `more than ${bytesMax} bytes of output`, retry: false, result };
  if (end.status === 0) return { result };
  const how = end.by === null ? `exit status ${end.status}` : `killed by ${end.by}`;
  return { status: 'error', error: `${command}: ${how}`, retry: end.status !== permanentStatus, result };
}

/** @param {import('../../runtime/host/api/plugin-api.ts').JsonObject} config @returns {Settings} */
function readSettings({ command, args = [], directory, max_output_bytes = outputBytesDefault }) {
  if (typeof command !== 'string' || command === '') throw wrong('command', 'the path or name of a program');
  if (!Array.isArray(args) || !args.every(arg => typeof arg === 'string')) throw wrong('args', 'a list of strings');
  if (directory !== undefined && typeof directory !== 'string') throw wrong('directory', 'a path');
  if (!Number.isInteger(max_output_bytes) || Number(max_output_bytes) < 1 || Number(max_output_bytes) > outputBytesMax)
    throw wrong('max_output_bytes', `a number of bytes from 1 to ${outputBytesMax}`);
  return { command, args, directory, outputBytesMax: Number(max_output_bytes) };
}

/** @param {string} key @param {string} expected */
function wrong(key, expected) {
  return Object.assign(new Error(`config.${key} must be ${expected}`), { retry: false });
}
