// docs/tour.md: a reader who runs its commands sees what it promises at each step, and its pictures are small.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { asScript, blocksOf, freeAddress } from '../kit/page.ts';

const page = new URL('../../../docs/tour.md', import.meta.url);
const pictureBytesMax = 150_000;

test('its commands find the slow step, and repair the run', async () => {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-tour-')));
  onTestFinished(() => rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  const script = asScript(blocksOf(page), await freeAddress());
  const { status, stdout, stderr } = spawnSync('bash', ['-c', script], {
    cwd: home,
    encoding: 'utf8',
    env: { ...process.env, HOME: home },
  });
  expect(status, `${stdout}\n${stderr}`).toBe(0);
  const told = (what: RegExp) => [...stdout.matchAll(what)].map(match => match.slice(1));
  // The step `price` in the pipeline where it is slow, and where it is quick: number of jobs, failed jobs, and the median of waiting.
  const [slow, quick] = told(/^price +(\d+) +(\d+) +([\d.]+ \S+) /gm);
  expect([slow?.slice(0, 2), quick?.slice(0, 2)]).toEqual([
    ['300', '0'],
    ['300', '0'],
  ]);
  expect(ms(quick![2]!)).toBeLessThan(ms(slow![2]!));
  expect(told(/^label +(\d+) +(\d+) {2,}/gm)).toEqual([
    ['300', '30'],
    ['300', '0'],
  ]);
  expect(stdout).toMatch(/^[0-9a-f]{16} +30 .*parcels\.label +no carrier takes parcel # to NO$/m);
  expect(stdout).toMatch(/"parcels": 300,\s+"cents": 147000/);
});

test('each of its pictures is there, and has at most 150 kB', () => {
  const pictures = [...readFileSync(page, 'utf8').matchAll(/!\[[^\]]+\]\((pictures\/[\w-]+\.png)\)/g)].map(
    match => match[1]!,
  );
  expect(pictures.length).toBeGreaterThan(0);
  for (const path of pictures) expect(statSync(new URL(path, page)).size, path).toBeLessThanOrEqual(pictureBytesMax);
});

function ms(text: string): number {
  const [n, unit] = text.split(' ');
  return Number(n) * { µs: 0.001, ms: 1, s: 1_000 }[unit!]!;
}
