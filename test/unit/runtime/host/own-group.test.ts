// Where a host stands among the processes of the system: in the session of its service, a group and without a terminal.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { statOf } from '../../../../runtime/processes/identity.ts';
import { builtHost, clearStages, Stage } from './stage.ts';

afterEach(clearStages);

const isLinux = process.platform === 'linux';
/** Of `/proc/PID/stat`, from the third field on: group and session. */
const place = (pid: number) => statOf(pid)!.slice(2, 4).map(Number);

test.skipIf(!isLinux)('it leads a group of its own, and shares its session with the service', async () => {
  const stage = new Stage(1).plugin('p', 'export const handle = () => ({ result: { pid: process.pid } })');
  const { result } = await stage.run('p');
  const { pid } = result as { pid: number };
  expect(place(pid)).toEqual([pid, place(process.pid)[1]]);
});

test.skipIf(!isLinux || !existsSync('/usr/bin/script'))('it has no terminal, though its service has one', () => {
  const code = `
    const { openSync, writeSync } = await import('node:fs');
    const { leadOwnGroup } = await import('${new URL('own-group.js', builtHost)}');
    const terminal = () => { try { openSync('/dev/tty'); return 'has one'; } catch ({ code }) { return code; } };
    const before = terminal();
    leadOwnGroup();
    writeSync(1, before + ', then ' + terminal());
  `;
  // Its shell leads the session, which has a terminal that is made for it.
  const command = `"$NODE" --input-type=module -e "$CODE"; exit $?`;
  const env = { ...process.env, NODE: process.execPath, CODE: code, SHELL: '/bin/sh' };
  const said = execFileSync('script', ['-qec', command, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  expect(said.toString()).toBe('has one, then ENXIO');
});
