// No process opens a store while another commits to it: LMDB would reset the number of that commit, and lose the commit.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../runtime/store/ledger-store.ts';
import { until } from '../../service/gateway/until.ts';

const directory = mkdtempSync(join(tmpdir(), 'headgate-gate-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
openStore(directory).close();

const built = (name: string): string => new URL(`../../../dist/runtime/store/${name}.js`, import.meta.url).href;
const head = `
  const { openCommitLock } = await import('${built('commit-lock')}');
  const { openReaderBeside, openStore } = await import('${built('ledger-store')}');
  const { readSync } = await import('node:fs');
  const path = process.argv[1];
  const say = word => process.stdout.write(word + '\\n');
  const untilAsked = () => readSync(0, Buffer.alloc(1), 0, 1);
`;
const holder = (side: 'commit' | 'open') =>
  `${head} openCommitLock(path).${side}(() => { say('holds'); untilAsked(); });`;
const writer = `${head}
  const store = openStore(path);
  say('open');
  untilAsked();
  const batch = store.batch();
  batch.put('names', Buffer.from('key'), Buffer.from('value'));
  store.commit(batch);
  say('committed');
  store.close();
`;
const looker = `${head} say('begins'); openReaderBeside(path).close(); say('has looked');`;
const opener = `${head} say('begins'); openStore(path).close(); say('has opened');`;

type Child = ChildProcessByStdio<Writable, Readable, null>;

function run(code: string): Child {
  const words = ['--input-type=module', '-e', code, directory];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

async function said(child: Child, word: string): Promise<void> {
  const [chunk] = await once(child.stdout, 'data');
  expect(String(chunk).trim()).toBe(word);
}

/** Waits until the system lists the process as waiting for the lock of the gate. */
async function waits(child: Child): Promise<void> {
  const { ino } = statSync(join(directory, 'gate.lock'));
  const waiting = new RegExp(`-> FLOCK .* ${child.pid} .*:${ino} `);
  await until('it waits at the gate', () => waiting.test(readFileSync('/proc/locks', 'utf8')));
}

const onLinux = test.runIf(process.platform === 'linux');

onLinux('a commit waits until another process has opened the store', async () => {
  const committing = run(writer);
  await said(committing, 'open');
  const opening = run(holder('open'));
  await said(opening, 'holds');
  committing.stdin.write('.');
  await waits(committing);
  opening.stdin.write('.');
  await said(committing, 'committed');
});

onLinux.each([
  ['only looks', looker, 'has looked'],
  ['writes', opener, 'has opened'],
])('a process that %s opens the store when the commit of another is over', async (_, code, done) => {
  const committing = run(holder('commit'));
  await said(committing, 'holds');
  const opening = run(code);
  await said(opening, 'begins');
  await waits(opening);
  committing.stdin.write('.');
  await said(opening, done);
});

onLinux('a process that dies holds nobody up', async () => {
  const dying = run(holder('open'));
  await said(dying, 'holds');
  const opening = run(looker);
  await said(opening, 'begins');
  await waits(opening);
  dying.kill('SIGKILL');
  await said(opening, 'has looked');
});
