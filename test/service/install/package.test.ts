// The published package: it is small and complete, and works in an empty directory with the commands that the README shows.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { install, type Packed, pack, root, shell } from './package.ts';

/** Whether this platform can load the binary of uWebSockets.js, tried in the checkout. */
const hasUws = spawnSync(process.execPath, ['-e', "require('uWebSockets.js')"], { cwd: root }).status === 0;

let packed: Packed;
let home: string;
/** An empty project with the tarball installed. All tests use it; the test that removes files from it comes last. */
let directory: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'headgate-pack-'));
  packed = pack(home);
  directory = install(join(home, 'user'), packed.tarball);
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the tarball is at most 1.5 MB, and has no tests, benches or sources, and no Dockerfile, which needs them', () => {
  expect(packed.size).toBeLessThanOrEqual(1.5 * 10 ** 6);
  const strays = packed.files.filter(path =>
    /^(test|bench|dist\/(test|bench|packaging)|\.ci)\/|\.map$|^(Dockerfile|compose\.yaml)$/.test(path),
  );
  expect(strays).toEqual([]);
  expect(packed.files.filter(path => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
});

test('installed in an empty directory it makes a gateway, serves it, runs a pipeline, and tests plugins of each runtime', async () => {
  expect(shell(directory, 'headgate version').trim()).toMatch(/^\d+\.\d+\.\d+$/);
  shell(directory, 'headgate init gateway --listen 127.0.0.1:0');
  const { url } = await started('gateway');
  const said = shell(
    directory,
    `HEADGATE_URL=${url} HEADGATE_TOKEN=$(cat gateway/data/api-token) headgate pipeline run greet-all --config gateway --payload '{"people":["Ada","Grace"]}'`,
  );
  expect(said).toBe('good morning everybody\n');
  const token = shell(directory, 'cat gateway/data/api-token').trim();
  // A separate process writes the backup, so the package must contain its file.
  const backup = await fetch(`${url}/system/backup`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } });
  expect(await backup.json()).toMatchObject({ counts: { runs_unsettled: 0 } });
  for (const runtime of ['worker', 'typescript', 'process']) {
    shell(directory, `headgate plugin new ${runtime}-plugin --runtime ${runtime}`);
    expect(shell(directory, `headgate plugin test plugins/${runtime}-plugin`)).toMatch(/^ok /m);
  }
});

test('tsc accepts a TypeScript plugin against the types of the package', () => {
  writeFileSync(
    join(directory, 'index.ts'),
    `import type { Handler } from 'headgate/plugin';
export const handle: Handler = (request, { log, span }) => {
  const end = span('greeting');
  log('info', request.command);
  end();
  return { result: \`hello \${JSON.stringify(request.event?.payload)}\` };
};
`,
  );
  const options = { strict: true, module: 'nodenext', target: 'es2022', noEmit: true, types: [] };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['index.ts'] }));
  const tsc = join(root, 'node_modules', '.bin', 'tsc');
  expect(execFileSync(tsc, ['-p', directory], { encoding: 'utf8' })).toBe('');
});

test('headgate-slim leaves a tree of at most 60 MB that still serves', async () => {
  expect(shell(directory, 'headgate-slim --dry-run')).toContain('would remove');
  expect(shell(directory, 'headgate-slim')).toContain('removed');
  expect(Number(shell(directory, 'du -sm node_modules').split('\t')[0])).toBeLessThanOrEqual(60);
  shell(directory, 'headgate init slim --listen 127.0.0.1:0');
  const { url, server } = await started('slim');
  expect([server, (await fetch(`${url}/healthz`)).status]).toEqual([hasUws ? 'uws' : 'node', 200]);
});

test.skipIf(!hasUws)(
  'whichever binary is left, it serves; a log line says which server, and how to mend it',
  async () => {
    const uws = join(directory, 'node_modules', 'uWebSockets.js');
    const binary = join(uws, `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`);
    shell(directory, 'headgate init servers --listen 127.0.0.1:0');
    renameSync(binary, join(uws, `uws_${process.platform}_${process.arch}_999.node`));
    const other = await started('servers');
    expect([other.server, (await fetch(`${other.url}/healthz`)).status]).toEqual(['node', 200]);
    expect(other.said).toContain('is for another version of Node (ABI 999;');
    expect(other.said).toContain('install headgate again with this Node');
    await other.stop();

    rmSync(uws, { recursive: true });
    const none = await started('servers');
    expect(none.server).toBe('node');
    expect(
      shell(directory, 'headgate pipeline run greet-all --config servers --payload \'{"people":["Ada"]}\''),
    ).not.toBe('');
    expect(shell(directory, 'headgate doctor --config servers')).toMatch(/HTTP server node \(/);
    await none.stop();

    spawnSync(process.execPath, ['dist/packaging/uws-packages.js', join(directory, 'node_modules')], { cwd: root });
    expect((await started('servers')).server).toBe('uws');
  },
);

type Started = { readonly url: string; readonly server: string; readonly said: string; stop(): Promise<void> };

/** Starts the installed gateway, for the length of the test at most. */
async function started(config: string): Promise<Started> {
  const command = join(directory, 'node_modules', '.bin', 'headgate');
  const child = spawn(command, ['start', '--config', config], { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>(resolve => child.once('close', () => resolve()));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  onTestFinished(stop);
  let said = '';
  return new Promise((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      const line = said.split('\n').find(one => one.includes('"msg":"ready"') && one.endsWith('}'));
      if (line !== undefined) resolve({ ...(JSON.parse(line) as { url: string; server: string }), said, stop });
    });
    void ended.then(() => reject(new Error(`the service ended instead of getting ready:\n${said}`)));
  });
}
