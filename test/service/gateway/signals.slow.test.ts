// Signals that other programs of the same user may send.
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { begunBackup } from '../backup/begun-backup.ts';
import { childrenOf } from '../canary/processes.ts';
import { startGateway } from './gateway.ts';
import { until } from './until.ts';

const canLook = process.platform === 'linux' && process.getuid?.() === 0;
if (!canLook) process.stderr.write('SKIPPED: what service and hosts listen on is seen by root alone, on Linux\n');

test.runIf(canLook)('SIGUSR1 opens no debugger, in the service or in a host', async () => {
  const plugins = { echo: 'export const say = async () => ({ status: "ok" });' };
  const gateway = await startGateway({ plugins });
  await gateway.finished('echo/say');
  const processes = [gateway.pid, ...childrenOf(gateway.pid)];
  expect(processes.length).toBeGreaterThan(1);
  const before = processes.map(listeners);
  for (const pid of processes) process.kill(pid, 'SIGUSR1');
  // The signal is handled before any work that comes later.
  for (const pid of processes) await until('the signal was handled', () => !isPending(pid));
  for (let i = 0; i < 5; i++) expect((await gateway.finished('echo/say')).status).toBe('succeeded');
  expect(processes.map(listeners)).toEqual(before);
  expect(gateway.stderr).not.toContain('Debugger listening');
});

test('SIGUSR1 opens no debugger in the process that writes a backup', async () => {
  const home = mkdtempSync(join(tmpdir(), 'headgate-signals-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const child = await begunBackup(home);
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  child.kill('SIGUSR1');
  expect(await said).toEqual([expect.stringContaining('"kind":"written"'), '']);
});

/** Whether SIGUSR1, which is signal 10, waits to be handled by the process. */
function isPending(pid: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const pending = [...(/^(?:SigPnd|ShdPnd):\s+(\w+)$/gm.exec(status) ?? [])];
  return pending.slice(1).some(mask => (Number.parseInt(mask, 16) & (1 << 9)) !== 0);
}

/** Sockets on which the process listens, by inode. */
function listeners(pid: number): string[] {
  const listening = new Set<string>();
  for (const table of ['tcp', 'tcp6']) {
    for (const line of readFileSync(`/proc/${pid}/net/${table}`, 'latin1').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[3] === '0A') listening.add(`socket:[${fields[9]}]`);
    }
  }
  const open = readdirSync(`/proc/${pid}/fd`).map(fd => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  return open.filter(socket => listening.has(socket)).sort();
}
