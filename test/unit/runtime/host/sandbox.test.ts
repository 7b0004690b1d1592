// Sandboxes of process plugins: what is on, and that nothing runs with less than it asked for.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { commandLine, limitsDefault, sandboxFault } from '../../../../runtime/processes/sandbox.ts';
import { until } from '../../../service/gateway/until.ts';
import { clearStages, Stage } from './stage.ts';

afterEach(clearStages);

const limits = { ...limitsDefault, memoryBytesMax: 512 * 2 ** 20, cpuSMax: 1, fileBytesMax: 2 ** 20, openFilesMax: 64 };
const limited = { sandbox: { kind: 'limits', limits } } as const;
/** Little memory, which is soon full, and enough CPU time: on a busy machine, filling 512 MB took more than a second. */
const small = {
  sandbox: { kind: 'limits', limits: { ...limits, memoryBytesMax: 64 * 2 ** 20, cpuSMax: 60 } },
} as const;
const caged = { sandbox: { kind: 'bwrap', limits: limitsDefault } } as const;
const hasBwrap = (await sandboxFault(caged.sandbox)) === null;
const isRoot = process.getuid!() === 0;
/** A program whose result is the output of the commands, on one line. */
const sh = (body: string) =>
  `#!/bin/sh\nresult=$({ ${body}; } 2>/dev/null | tr '\\n' ' ')\nprintf '{"status":"ok","result":"%s"}' "\${result% }"\n`;
/** Whether a process runs whose command line begins with these words. */
const runs = (words: string) =>
  readdirSync('/proc').some(name => commandLineOf(name).startsWith(words.replaceAll(' ', '\0')));

/** The command line of the process with this name in /proc; empty if the name is not that of a process, or the process has ended. */
function commandLineOf(name: string): string {
  try {
    return /^\d+$/.test(name) ? readFileSync(`/proc/${name}/cmdline`, 'latin1') : '';
  } catch {
    return '';
  }
}

describe('Limits', () => {
  it('are those that were set', async () => {
    const body = 'echo $(ulimit -v) $(ulimit -t) $(ulimit -f) $(ulimit -n) $(ulimit -c)';
    const { result } = await new Stage(1).plugin('p', sh(body), limited).run('p');
    // The units of the shell: KiB, seconds, blocks of 512 bytes.
    expect(result).toBe('524288 1 2048 64 0');
  });

  it('hold', async () => {
    const stage = new Stage(2)
      .plugin('busy', '#!/bin/sh\nwhile :; do :; done\n', limited)
      .plugin('fat', '#!/bin/sh\nexec head -c 2147483648 /dev/zero | tail -n 1 >/dev/null\n', small)
      .plugin('large', '#!/bin/sh\nexec head -c 9000000 /dev/zero >large\n', limited);
    const [busy, fat, large] = await Promise.all(
      ['busy', 'fat', 'large'].map(name => stage.run(name, { deadlineMs: 100_000 })),
    );
    expect(busy).toMatchObject({ verdict: 'error', error: 'no response on stdout (killed by SIGXCPU)' });
    expect(fat).toMatchObject({ verdict: 'error', stderr: expect.stringMatching(/memory exhausted/) });
    expect(large).toMatchObject({ verdict: 'error', error: 'no response on stdout (killed by SIGXFSZ)' });
  });

  it.skipIf(!isRoot)('of processes are refused where they do not hold', async () => {
    const sandbox = { kind: 'limits', limits: { ...limits, processesMax: 10 } } as const;
    const error = 'cannot start main: its sandbox "limits" is unavailable: a limit on processes has no effect for root';
    const stage = new Stage(1).plugin('p', '#!/bin/sh\ntouch ran\n', { sandbox });
    expect(await stage.run('p')).toMatchObject({ verdict: 'error', error });
    expect(existsSync(`${stage.directory}/plugins/p/ran`)).toBe(false);
  });
});

describe.skipIf(!hasBwrap)('In bubblewrap', () => {
  it('a plugin has no network, reads the system and its directory, and writes its home and /tmp alone', async () => {
    const tries: { readonly [name: string]: readonly [commands: string, result: unknown] } = {
      network: ['grep -c : /proc/net/dev', '1'],
      own: ['cat data; touch data || echo refused', 'mine refused'],
      others: ['ls ../neighbour || echo hidden', 'hidden'],
      service: ['ls ../../run || echo hidden', 'hidden'],
      homes: ['ls -d /root /home || echo hidden', 'hidden'],
      machine: ['cat /proc/sys/vm/swappiness >/proc/sys/vm/swappiness || echo refused', 'refused'],
      keys: ['ls -d /etc/ssl/private /etc/pki/tls/private || echo hidden', 'hidden'],
      system: ['touch /usr/x || echo refused', 'refused'],
      home: ['echo kept >>$HOME/a && cat $HOME/a', 'kept'],
      temporary: ['ls -A /tmp/a; echo fresh >/tmp/a && cat /tmp/a', 'fresh'],
      processes: ['ls -d /proc/[0-9]* | grep -c "..."', expect.stringMatching(/^.$/)],
    };
    const stage = new Stage(2).plugin('neighbour', sh('true'));
    for (const [name, [commands]] of Object.entries(tries)) {
      stage.plugin(name, sh(commands), caged);
      stage.write(name, 'data', 'mine\n');
    }
    const ends = await Promise.all(Object.keys(tries).map(name => stage.run(name)));
    for (const [i, [name, [, result]]] of Object.entries(tries).entries())
      expect(ends[i]!.result, name).toEqual(result);
    expect((await stage.run('home')).result).toBe('kept kept');
  });

  it('whatever a plugin starts ends with it, also what has left its group and cleared its environment', async () => {
    const code = `#!/bin/sh\nenv -i setsid sleep 67.25 </dev/null >/dev/null 2>&1 &\nsleep 67.25\n`;
    const stage = new Stage(1).plugin('p', code, caged);
    expect(await stage.run('p', { deadlineMs: 500 })).toMatchObject({ verdict: 'timed_out' });
    await until('all is gone', () => !runs('sleep 67.25'));
  });
});

it("A plugin's directory is there also where it lies below the place of its home", () => {
  const home = mkdtempSync(join(tmpdir(), 'headgate-home-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const place = '/work';
  const directory = join(place, 'p');
  const words = commandLine({ directory, entrypoint: 'main', instance: 'p', ...caged }, home);
  // A later mount is on top of earlier ones.
  expect(words.indexOf(directory)).toBeGreaterThan(words.indexOf(place));
});

it('A plugin whose sandbox is unavailable is not started', async () => {
  const path = process.env['PATH'];
  const bin = mkdtempSync(join(tmpdir(), 'headgate-bin-'));
  onTestFinished(() => {
    process.env['PATH'] = path;
    rmSync(bin, { recursive: true });
  });
  symlinkSync('/usr/bin/prlimit', join(bin, 'prlimit'));
  process.env['PATH'] = bin;
  const stage = new Stage(1).plugin('p', '#!/bin/sh\necho >ran\n', caged);
  const error = 'cannot start main: its sandbox "bwrap" is unavailable: bwrap is not installed';
  expect(await stage.run('p')).toMatchObject({ verdict: 'error', permanent: false, error });
  expect(existsSync(`${stage.directory}/plugins/p/ran`)).toBe(false);
});
