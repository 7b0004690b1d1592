// Power cuts, page by page: whatever part of the ledger's data file was written since the checkpoint, a start restores each committed turn.
// If any rule of checkpoints is violated, it does not.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { seededRandom } from '../../../service/crash/random.ts';
import { cyclesOf } from '../../../support/deep.ts';

const scratch = mkdtempSync(join(tmpdir(), 'headgate-power-'));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const built = (name: string): string => new URL(`../../../../dist/runtime/${name}.js`, import.meta.url).href;
const pageBytes = 4096;
const random = seededRandom();

/** A process that opens the ledger, and obeys the lines on its stdin: `commit N` makes N turns, `checkpoint` a checkpoint. It prints the state. */
const code = `
  const { createHash } = await import('node:crypto');
  const { createInterface } = await import('node:readline');
  const { openStore } = await import('${built('store/ledger-store')}');
  const store = openStore(process.argv[1], { log: { segmentBytes: 2 ** 24, churnBytes: 2 ** 30 } });
  const own = store.get('names', Buffer.from('turns'));
  let turns = own ? Number(Buffer.from(own).toString()) : 0;
  const commit = () => {
    turns++;
    const batch = store.batch();
    batch.put('names', Buffer.from('turns'), Buffer.from(String(turns)));
    for (let n = 0; n < 20; n++) {
      const key = Buffer.from(String((turns * 7919 + n * 104729) % 900));
      if ((turns + n) % 3 === 0) batch.remove('timers', key);
      else batch.put('timers', key, Buffer.alloc((turns * n) % 700, turns % 256));
    }
    if (turns % 40 === 0) batch.put('bodies', Buffer.from('body ' + (turns % 3)), Buffer.alloc(60_000, turns % 256));
    store.commit(batch);
  };
  const hash = () => {
    const sum = createHash('sha256');
    for (const table of ['names', 'timers', 'bodies'])
      for (const { key, value } of store.scan(table, {})) sum.update(key).update('=').update(value).update(';');
    return sum.digest('hex');
  };
  createInterface({ input: process.stdin }).on('line', line => {
    const [word, count] = line.split(' ');
    if (word === 'commit') for (let n = 0; n < Number(count); n++) commit();
    if (word === 'checkpoint') store.checkpoint();
    console.log(JSON.stringify({ turns, hash: hash() }));
  });
  console.log(JSON.stringify({ turns, hash: hash() }));
`;

/** Patches the code as a process loads it, so that checkpoints hold no reader. */
const withoutReader = `
  import { register } from 'node:module';
  const hook = \`export async function load(url, context, next) {
    const loaded = await next(url, context);
    if (!url.endsWith('/runtime/store/lmdb.js')) return loaded;
    const text = String(loaded.source);
    const broken = text.replace('env.useReadTransaction()', '{ done() {} }');
    if (broken === text) throw new Error('there is no reader to leave out');
    return { ...loaded, source: broken };
  }\`;
  register('data:text/javascript,' + encodeURIComponent(hook));
`;

type Said = { readonly turns: number; readonly hash: string };

class Ledger {
  readonly #child;
  readonly #lines;

  constructor(path: string, imports: readonly string[] = []) {
    const words = imports.flatMap(text => ['--import', `data:text/javascript,${encodeURIComponent(text)}`]);
    this.#child = spawn(process.execPath, [...words, '--input-type=module', '-e', code, path], { stdio: 'pipe' });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    this.#child.stderr.on('data', text => {
      this.complaint += text;
    });
  }

  /** What it has said on stderr. */
  complaint = '';

  /** The state that the process prints when the ledger is open; null if it does not open. */
  async opened(): Promise<Said | null> {
    const { value, done } = await this.#lines.next();
    return done ? null : JSON.parse(value);
  }

  async does(line: string): Promise<Said> {
    this.#child.stdin.write(`${line}\n`);
    return (await this.opened())!;
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const isOver = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await isOver;
  }
}

/** A state after a power cut: each page that was written since the checkpoint has its old or new bytes, or those of another page. */
function cutImage(path: string, synced: string, keeps: number): string {
  const image = join(scratch, `image-${random.between(0, 2 ** 40)}`);
  cpSync(path, image, { recursive: true });
  rmSync(join(image, 'owner'), { force: true });
  const [before, after] = [readFileSync(synced), readFileSync(join(path, 'data.mdb'))];
  const mixed = Buffer.from(after);
  for (let at = 0; at < after.length; at += pageBytes) {
    const isNew = at >= before.length;
    const isSame = !isNew && before.compare(after, at, at + pageBytes, at, at + pageBytes) === 0;
    if (isSame || random.between(1, 1000) <= keeps * 1000) continue;
    if (isNew) mixed.fill(0, at, at + pageBytes);
    else before.copy(mixed, at, at, at + pageBytes);
  }
  writeFileSync(join(image, 'data.mdb'), mixed);
  return image;
}

async function reopened(image: string): Promise<Said | null> {
  const ledger = new Ledger(image);
  const said = await ledger.opened();
  await ledger.kill();
  return said;
}

/** A ledger that was killed: the file as it was at each of its two checkpoints, and what it had at the end. */
type Killed = {
  readonly path: string;
  readonly synced: readonly string[];
  readonly checkpoints: readonly Buffer[];
  readonly last: Said;
};

async function killed(imports: readonly string[] = []): Promise<Killed> {
  const path = mkdtempSync(join(scratch, 'state-'));
  const ledger = new Ledger(path, imports);
  await ledger.opened();
  const synced: string[] = [];
  const checkpoints: Buffer[] = [];
  for (let round = 0; round < 2; round++) {
    await ledger.does(`commit ${random.between(50, 1_000)}`);
    await ledger.does('checkpoint');
    synced.push(`${path}-${round}`);
    cpSync(join(path, 'data.mdb'), synced[round]!);
    checkpoints.push(readFileSync(join(path, 'log/checkpoint')));
  }
  // More than `oldHoldCommits`, so that some of these commits keep the list of free pages.
  const last = await ledger.does(`commit ${random.between(600, 1_200)}`);
  await ledger.kill();
  return { path, synced, checkpoints, last };
}

test('the ledger has every turn, whichever pages were on disk', { timeout: 240_000 }, async () => {
  for (let round = 0; round < cyclesOf({ deep: 12, quick: 2 }); round++) {
    const { path, synced, last } = await killed();
    for (const keeps of [0, 0.5, 1]) {
      const image = cutImage(path, synced[1]!, keeps);
      expect(await reopened(image), `keeping ${keeps} of what was written`).toEqual(last);
      // A second start, as if the process had been killed again after its recovery.
      expect(await reopened(image)).toEqual(last);
      rmSync(image, { recursive: true });
    }
  }
});

test('without a reader that holds the pages of the checkpoint, it does not', { timeout: 120_000 }, async () => {
  const { path, synced, last } = await killed([withoutReader]);
  expect(await reopened(cutImage(path, synced[1]!, 1))).not.toEqual(last);
});

test('with roots that were copied after the sync, it does not', { timeout: 120_000 }, async () => {
  const { path, synced, last } = await killed();
  // The sync had reached the pages of the first checkpoint; the file of the checkpoint has the roots of the second.
  expect(await reopened(cutImage(path, synced[0]!, 0))).not.toEqual(last);
});

test('with the log as it was at the checkpoint, it lacks the turns after it', { timeout: 120_000 }, async () => {
  const path = mkdtempSync(join(scratch, 'unsynced-'));
  const ledger = new Ledger(path);
  await ledger.opened();
  const first = await ledger.does('commit 30');
  await ledger.does('checkpoint');
  // Unfinished segments are left out: the ledger prepares its next one at the same time, and renames it when it is ready.
  const log = `${path}-log`;
  mkdirSync(log);
  for (const name of readdirSync(join(path, 'log')))
    if (!name.startsWith('unfinished-')) cpSync(join(path, 'log', name), join(log, name));
  await ledger.does('commit 5');
  await ledger.kill();
  rmSync(join(path, 'log'), { recursive: true });
  cpSync(log, join(path, 'log'), { recursive: true });
  expect(await reopened(path)).toEqual(first);
});

test('the file of an earlier checkpoint is refused, and its roots are not written back', {
  timeout: 120_000,
}, async () => {
  const { path, checkpoints } = await killed();
  writeFileSync(join(path, 'log/checkpoint'), checkpoints[0]!);
  const before = readFileSync(join(path, 'data.mdb'));
  const ledger = new Ledger(path);
  expect(await ledger.opened()).toBeNull();
  // The first segment may have been reused, so there are two possible messages.
  expect(ledger.complaint).toMatch(
    /the file of the checkpoint is an old copy|segment 1 of the commit log, .* is missing/,
  );
  expect(readFileSync(join(path, 'data.mdb')).equals(before)).toBe(true);
});
