// Plugin code of the same user cannot read the service or its hosts, and a host that survives is found all the same.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { livingStat } from '../../../runtime/processes/identity.ts';
import { everythingToken, type Settings, writeConfiguration } from './configuration.ts';
import { refusedStart } from './gateway.ts';
import { until } from './until.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const isRoot = process.getuid?.() === 0;
const nobody = 65_534;
/** Root may read every process, so a service that root starts runs as another user, and its plugins too. */
const become = isRoot ? ['setpriv', `--reuid=${nobody}`, `--regid=${nobody}`, '--clear-groups'] : [];
const canRun =
  process.platform === 'linux' &&
  (!isRoot ||
    spawnSync('setpriv', [...become.slice(1), process.execPath, '-e', 'fs.accessSync("dist/cli/main.js")'], {
      cwd: root,
    }).status === 0);
if (!canRun)
  process.stderr.write('SKIPPED: what plugins of the same user may read needs Linux, and setpriv for root\n');
const vaultKey = 'ab'.repeat(32);

/** Tries to read what belongs to another process; a line for each try. */
const spy = `
import * as fs from 'node:fs';
const parentOf = pid => fs.readFileSync('/proc/' + pid + '/stat', 'latin1').replace(/^.*\\) /s, '').split(' ')[1];
const tries = { environ: fs.readFileSync, mem: fs.openSync, maps: fs.openSync, fd: fs.readdirSync, cwd: fs.readlinkSync };
const look = pid => Object.entries(tries).map(([name, read]) => {
  try { read('/proc/' + pid + '/' + name); return name + ' read'; } catch ({ code }) { return name + ' ' + code; }
});
`;
const refused = ['environ EACCES', 'mem EACCES', 'maps EACCES', 'fd EACCES', 'cwd EACCES'];
const read = ['environ read', 'mem read', 'maps read', 'fd read', 'cwd read'];
const plugins = {
  program: {
    code: `#!/usr/bin/env node
      ${spy}
      const result = { host: look(process.ppid), service: look(parentOf(process.ppid)), itself: look('self') };
      console.log(JSON.stringify({ status: 'ok', result }));`,
    entrypoint: 'run.mjs',
    runtime: 'process',
    commands: { run: {} },
  },
  worker: `
    import { execFileSync } from 'node:child_process';
    ${spy}
    export const run = () => ({ result: { service: look(process.ppid) } });
    export const child = () => ({ result: { own: execFileSync('cat', ['/proc/self/environ']).includes('PATH=') } });`,
};

class Service {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-inspection-')));
  #child: ChildProcess | null = null;
  #log = '';

  constructor(settings: Settings = {}) {
    writeConfiguration(this.directory, { plugins, ...settings });
    if (isRoot) execFileSync('chown', ['-R', `${nobody}:${nobody}`, this.directory]);
    onTestFinished(async () => {
      await this.kill();
      rmSync(this.directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    });
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  async start(): Promise<void> {
    this.#log = '';
    const [file, ...words] = [...become, process.execPath, 'dist/cli/main.js', 'start', '--config', this.directory];
    const env = { ...process.env, HOME: this.directory, HEADGATE_VAULT_KEY: vaultKey };
    this.#child = spawn(file!, words, { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr!.setEncoding('utf8').on('data', text => {
      this.#log += text;
    });
    await until('the service is ready', () => this.#line('ready'));
  }

  /** Runs a program, and resolves with the pid of the host that ran it. */
  async programHost(): Promise<number> {
    await this.run('program/run');
    return Number((await until('its host is up', () => this.#line('the plugin host is up', 'programs-1')))['pid']);
  }

  async run(command: string): Promise<unknown> {
    const { job_id: id } = await this.#call('POST', `/plugin/${command}`, '{}');
    const job = await until(`${command} ends`, async () => {
      const found = await this.#call('GET', `/job/${id}`);
      return found['completed_at'] != null && found;
    });
    return (job['result'] as Document | null)?.['result'] ?? job;
  }

  async #call(method: string, path: string, body?: string): Promise<Document> {
    const headers = { authorization: `Bearer ${everythingToken}`, 'content-type': 'application/json' };
    const answer = await fetch(`${this.#line('ready')!['url']}${path}`, { method, headers, body: body ?? null });
    expect(answer.ok, path).toBe(true);
    return (await answer.json()) as Document;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  #line(message: string, host?: string): Document | undefined {
    const lines = this.#log
      .split('\n')
      .slice(0, -1)
      .filter(line => line.startsWith('{'));
    return lines
      .map(line => JSON.parse(line) as Document)
      .find(line => line['msg'] === message && (host === undefined || line['host'] === host));
  }
}

type Document = { readonly [name: string]: unknown };

test.runIf(canRun)('plugins read nothing of the service and its hosts, and all of their own', async () => {
  const service = new Service();
  await service.start();
  expect(await service.run('program/run')).toEqual({ host: refused, service: refused, itself: read });
  expect(await service.run('worker/run')).toEqual({ service: refused });
  expect(await service.run('worker/child')).toEqual({ own: true });
});

test.runIf(canRun)('a host that outlives its service is found by its mark and killed at the next start', async () => {
  const service = new Service();
  await service.start();
  const host = await service.programHost();
  // A stopped host cannot see that its service is gone. It leads a session of its own, so the kernel does not continue it
  // when the service dies.
  process.kill(host, 'SIGSTOP');
  await service.kill();
  expect(livingStat(host)).not.toBe(null);
  await service.start();
  expect(livingStat(host)).toBe(null);
});

test('HEADGATE_VAULT_KEY is forgotten once it is read: no configuration can name it', async () => {
  const environment = { HEADGATE_VAULT_KEY: vaultKey };
  const { status, said } = await refusedStart({ service: { name: `\${HEADGATE_VAULT_KEY}` } }, { environment });
  expect(status).toBe(78);
  expect(said).toContain('HEADGATE_VAULT_KEY');
  expect(said).not.toContain(vaultKey);
});
