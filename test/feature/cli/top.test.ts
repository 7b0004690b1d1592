// `headgate top`: as lines, and live in a real terminal, which it leaves as it was.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { fitted } from '../../../cli/client/live-overview.ts';
import { type LaneDocument, type OverviewDocument, settledPerSecond } from '../../../cli/client/overview.ts';
import { type LaneOrder, sortedLanes } from '../../../cli/terminal/overview.ts';
import { cutLine } from '../../../cli/terminal/screen.ts';
import { writeLine } from '../../../cli/terminal/text.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { failing, worker } from '../../service/gateway/sources.ts';
import { headgate, type Surroundings } from './headgate.ts';
import { hasTerminals, PseudoTerminal } from './pseudo-terminal.ts';

const viewer = 'token-of-a-viewer';
const tokens = [
  { name: 'test', token: everythingToken, scopes: ['*'] },
  { name: 'viewer', token: viewer, scopes: ['jobs:ro'] },
];
const settings = {
  plugins: { failing, worker },
  instances: { failing: { retry: { max_attempts: 1 } }, worker: { parallelism: 1 } },
};
const gateway = shareGateway({ ...settings, api: { auth: { tokens } } });
const environment = () => ({ HEADGATE_URL: gateway.url, HEADGATE_TOKEN: viewer });

const top = (words: readonly string[], more: Surroundings = {}) =>
  headgate(['top', ...words], { env: environment(), ...more });

test('--once prints one overview: the document, or all of it for people', async () => {
  await gateway.finished('failing/handle', { message: 'no \u001b[31mpaper' });
  const { status, json } = await top(['--once', '--json']);
  expect([status, json.counts.failed, json.lanes.map(({ plugin }: LaneDocument) => plugin)]).toEqual([
    0,
    1,
    ['failing', 'worker'],
  ]);
  await expect.poll(async () => (await gateway.call('GET', '/failures')).body['total']).toBe(1);
  const { stdout } = await top(['--once', '--sort', 'name']);
  expect(stdout).toMatch(/^jobs {5}0 queued {2}0 running {2}0 succeeded {2}1 failed/);
  expect(stdout).toMatch(/^queue {4}0 ready; no job waits$/m);
  expect(stdout).toMatch(/^LANE +QUEUED +RUNNING +LIMIT +OLDEST +QUEUE P95 +RUN P95 +STATE$/m);
  expect(stdout).toMatch(/^worker +0 +0 +1 +-/m);
  expect(stdout).toMatch(/^FINGERPRINT +COUNT +LAST 24 HOURS +LAST \(UTC\) +WHAT +ERROR$/m);
  expect(stdout).toMatch(/^[0-9a-f]{16} +1 {2}[·▁-█]{24} {2}.* {2}failing\.handle {2}no \[#m?paper$/m);
});

test('without a terminal it prints lines, and with --json documents, as many as asked for', async () => {
  const { status, stdout } = await top(['--count', '2', '--interval', '100ms']);
  expect(status).toBe(0);
  const line = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d {2}0 queued {2}0 running {2}no job waits {2}[\d.]+/s {2}.*p95 queue .*\n`;
  expect(stdout).toMatch(new RegExp(`^(${line}){2}$`));
  const documents = (await top(['--json', '--count', '2', '--interval', '100ms'])).stdout.trim().split('\n');
  expect(documents.map(text => Object.keys((JSON.parse(text) as OverviewDocument).counts).length)).toEqual([7, 7]);
});

test('colours are for terminals, and not with NO_COLOR', async () => {
  const coloured = await top(['--once'], { isTerminal: true });
  expect(coloured.stdout).toContain('\u001b[');
  const plain = await top(['--once'], { isTerminal: true, env: { ...environment(), NO_COLOR: '1' } });
  expect(plain.stdout).not.toContain('\u001b[');
});

test('a service that is away at first is a failure; one that goes away later is waited for', async () => {
  const away = await top(['--lines'], { env: { HEADGATE_URL: 'http://127.0.0.1:1' } });
  expect([away.status, away.stderr]).toEqual([69, expect.stringContaining('cannot reach')]);
  let asked = 0;
  const env = await throughProxy(path => {
    if (path !== '/overview') return true;
    asked++;
    return asked !== 2 && asked !== 3;
  });
  const { status, stdout, stderr } = await top(['--lines', '--count', '2', '--interval', '100ms'], { env });
  expect([status, stdout.trim().split('\n').length, asked]).toEqual([0, 2, 4]);
  expect(stderr.match(/no answer .*trying again/g)).toHaveLength(1);
});

test('it shows the groups of failed jobs, or the newest failures while the groups cannot be read', async () => {
  const ids = [];
  for (const message of ["no 'a' in row 1", "no 'b' in row 2"])
    ids.push((await gateway.finished('failing/handle', { message, retry: false })).job_id);
  const counted = async () => (await gateway.call('GET', '/failures?limit=1')).body['failures'];
  await expect.poll(counted).toMatchObject([{ pattern: "no '…' in row #", count: 2 }]);
  const { stdout } = await top(['--once']);
  expect(stdout).toMatch(/^[0-9a-f]{16} +2 {2}[·▁-█]{24} {2}[-\d]+ [:.\d]+ {2}failing\.handle {2}no '…' in row #$/m);
  expect(stdout).not.toContain('FAILED AT');
  const { json } = await top(['--once', '--json']);
  expect(json.failure_groups[0]).toMatchObject({ count: 2, plugin: 'failing' });
  const lines = await top(['--count', '1']);
  expect(lines.stdout).toMatch(/ {2}last failure failing\.handle: 2 × no '…' in row #\n$/);

  const env = await throughProxy(
    () => true,
    ({ failure_groups: _, ...overview }) => overview,
  );
  const without = await top(['--once'], { env });
  expect(without.status).toBe(0);
  expect(without.stdout).toMatch(/^FAILED AT \(UTC\) +WHAT +STATUS +ERROR +JOB$/m);
  expect(without.stdout).toMatch(new RegExp(`failing\\.handle +failed +no 'b' in row 2 +${ids[1]}$`, 'm'));
});

type Document = { readonly [member: string]: unknown };

/** The environment for a service that answers 503 to the paths that `passes` refuses, and whose other answers `change` changes. */
async function throughProxy(passes: (path: string) => boolean, change = (document: Document): Document => document) {
  const proxy = createServer(async (request, answer) => {
    if (!passes(request.url!)) return void answer.writeHead(503).end();
    const given = await fetch(gateway.url + request.url, {
      headers: { Authorization: request.headers.authorization ?? '' },
    });
    answer
      .writeHead(given.status, { 'Content-Type': 'application/json' })
      .end(JSON.stringify(change((await given.json()) as Document)));
  });
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  await new Promise<void>(resolve => void proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return { ...environment(), HEADGATE_URL: `http://127.0.0.1:${port}` };
}

test.each([
  [['--interval', '10ms'], 'the shortest interval is 100ms'],
  [['--sort', 'size'], 'Allowed choices are depth, name, running, oldest, time'],
  [['--once', '--lines'], "cannot be used with option '--lines'"],
])('%j is refused: %s', async (words, message) => {
  const { status, stderr } = await top(words);
  expect([status, stderr]).toEqual([2, expect.stringContaining(message)]);
});

test('a token that may not see jobs is refused', async () => {
  const { status, stderr } = await top(['--once'], { env: { HEADGATE_URL: gateway.url } });
  expect([status, stderr]).toEqual([3, expect.stringContaining('a valid bearer token is needed')]);
});

describe.skipIf(!hasTerminals)('in a terminal', () => {
  const open = (more: { readonly env?: { readonly [name: string]: string }; readonly shell?: string } = {}) =>
    new PseudoTerminal(['top', '--interval', '100ms'], {
      columns: 100,
      rows: 24,
      ...more,
      env: { ...environment(), ...more.env },
    });

  test('it draws again what has changed, obeys keys, and leaves the terminal as it was', async () => {
    const terminal = open();
    await terminal.shows('by depth');
    const running = await gateway.submit('worker/handle', { gate: 'keys' });
    await gateway.noted('start', running);
    await gateway.submit('worker/handle');
    await terminal.shows('1 queued  1 running');
    terminal.type('n');
    const byName = await terminal.shows('by name');
    expect(byName.findIndex(line => line.startsWith('failing'))).toBeLessThan(
      byName.findIndex(line => line.startsWith('worker')),
    );
    terminal.type('n');
    await terminal.shows('by name, reversed');
    terminal.type('p');
    const paused = await terminal.shows('the display is paused');
    gateway.open('keys');
    await gateway.settled(running);
    terminal.type('d');
    expect((await terminal.shows('by depth'))[1]).toBe(paused[1]);
    terminal.type('p');
    const idle = await terminal.shows('0 queued  0 running');
    expect(idle[0]).not.toContain('paused');
    expect(idle.length).toBeLessThanOrEqual(24);
    expect(idle.at(-1)).toMatch(/^q quit/);

    terminal.resize(40, 12);
    const fits = () => terminal.lines.length <= 12 && terminal.lines.every(line => line.length <= 40);
    await expect.poll(fits).toBe(true);
    terminal.type('q');
    const { after, settings } = await terminal.ended();
    expect(after).toContain('ended 0');
    expect(settings).toHaveLength(2);
    expect(settings[1]).toBe(settings[0]);
    expect(terminal.written).toContain('\u001b[?1049h');
    expect(terminal.written.lastIndexOf('\u001b[?25h')).toBeGreaterThan(terminal.written.lastIndexOf('\u001b[?25l'));
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGHUP', 129],
    ['SIGINT', 130],
  ] as const)('%s gives the terminal back, and ends the command as such', async (signal, status) => {
    const terminal = open();
    await terminal.shows('q quit');
    terminal.signal(signal);
    const { after, settings } = await terminal.ended();
    expect(after).toContain(`ended ${status}`);
    expect(settings[1]).toBe(settings[0]);
  });

  test('control-C leaves it, and without colours it draws none', async () => {
    const terminal = open({ env: { NO_COLOR: '1' } });
    await terminal.shows('q quit');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with a control character
    expect(terminal.drawn.join('\n')).not.toMatch(/\u001b\[[0-9;]*m/);
    terminal.type('\u0003');
    expect((await terminal.ended()).after).toContain('ended 0');
  });

  test('control-Z gives the terminal back until the command goes on', async () => {
    const terminal = open({ shell: 'set -m; top; echo "stopped $?"; stty -g; fg; echo "ended $?"' });
    await terminal.shows('q quit');
    terminal.type('\u001a');
    await expect.poll(() => terminal.written.split('\u001b[?1049h').length).toBe(3);
    terminal.type('q');
    const { after, settings } = await terminal.ended();
    expect(terminal.written).toMatch(/stopped 1\d\d/);
    expect(after).toContain('ended 0');
    expect(new Set(settings).size).toBe(1);
    expect(settings).toHaveLength(3);
  });

  test('a terminal that can do nothing gets lines', async () => {
    const terminal = new PseudoTerminal(['top', '--interval', '100ms'], {
      columns: 100,
      rows: 24,
      env: { ...environment(), TERM: 'dumb' },
    });
    await expect.poll(() => terminal.written).toMatch(/(\d\d:\d\d {2}\d+ queued.*\r\n.*){2}/);
    expect(terminal.written).not.toContain('\u001b');
    terminal.type('\u0003');
    await terminal.ended();
  });

  test('while there is no answer it shows the last one, and a refused token ends it with the reason', async () => {
    const terminal = open();
    await terminal.shows('q quit');
    await gateway.reload({ ...settings, api: { auth: { tokens: tokens.slice(0, 1) } } });
    const { after, settings: terminalSettings } = await terminal.ended();
    expect(after).toContain('a valid bearer token is needed');
    expect(after).toContain('ended 3');
    expect(terminalSettings[1]).toBe(terminalSettings[0]);
    await gateway.reload({ ...settings, api: { auth: { tokens } } });

    const lost = open();
    await lost.shows('q quit');
    await gateway.kill9();
    await lost.shows('no answer, trying again: cannot reach');
    await lost.shows('worker');
    lost.type('q');
    expect((await lost.ended()).after).toContain('ended 0');
    await gateway.start();
  });
});

const lane = (plugin: string, more: Partial<LaneDocument> = {}): LaneDocument => ({
  plugin,
  queued_count: 0,
  active_count: 0,
  held_count: 0,
  limit: null,
  oldest_queued_at: null,
  run_p95_us: null,
  queue_p95_us: null,
  ...more,
});

test('lanes are sorted by what is asked for, then by name', () => {
  const lanes = [
    lane('c'),
    lane('a', { queued_count: 1, oldest_queued_at: '2026-11-21T09:00:00.000001Z', run_p95_us: 5 }),
    lane('b', { queued_count: 9, oldest_queued_at: '2026-11-21T09:00:00.000002Z', active_count: 1 }),
    lane('d', { run_p95_us: 7 }),
  ];
  const names = (order: LaneOrder, isReversed = false) =>
    sortedLanes(lanes, order, isReversed)
      .map(({ plugin }) => plugin)
      .join('');
  expect(names('name')).toBe('abcd');
  expect(names('name', true)).toBe('dcba');
  expect(names('depth')).toBe('bacd');
  expect(names('running')).toBe('bacd');
  expect(names('oldest')).toBe('abcd');
  expect(names('time')).toBe('dabc');
});

test('a screen has room for the head, then for lanes, and a third for failures', () => {
  const lines = (name: string, count: number) => Array.from({ length: count }, (_, n) => `${name} ${n}`);
  const parts = { head: lines('head', 2), lanes: lines('lane', 5), failures: lines('failure', 4) };
  expect(fitted(parts, 20)).toEqual([...parts.head, '', ...parts.lanes, '', ...parts.failures]);
  expect(fitted(parts, 12)).toEqual([
    ...parts.head,
    '',
    'lane 0',
    'lane 1',
    'lane 2',
    'lane 3',
    'lane 4',
    '',
    'failure 0',
    'failure 1',
    'failure 2',
  ]);
  const many = { ...parts, lanes: lines('lane', 50) };
  expect(fitted(many, 11)).toEqual([...parts.head, '', ...lines('lane', 4), '… 46 more', '', 'failure 0', 'failure 1']);
  expect(fitted(many, 5)).toEqual([...parts.head, '', 'lane 0', '… 49 more']);
  for (let rows = 0; rows < 70; rows++) expect(fitted(many, rows).length).toBeLessThanOrEqual(rows);
  expect(fitted({ ...parts, failures: [] }, 8)).toEqual([...parts.head, '', ...parts.lanes]);
});

test('a line is cut where the terminal ends, after it was made harmless', () => {
  const line = ['ab\u001b', { text: 'cdef', style: 'red' as const }, 'gh'];
  expect(writeLine(cutLine(line, 100), false)).toBe('ab\\u001bcdefgh');
  expect(writeLine(cutLine(line, 10), true)).toBe('ab\\u001b\u001b[31mcd\u001b[0m');
  expect(writeLine(cutLine(line, 0), true)).toBe('');
  expect(writeLine(cutLine('😀😀', 1), false)).toBe('😀');
});

test('throughput is what ended between two overviews, also over the ends of minutes', () => {
  const seen = (captured: string, since: string, settled: readonly number[]) =>
    ({ captured_at: captured, trend: { since, settled } }) as unknown as OverviewDocument;
  const first = seen('2026-11-21T09:02:58.000000Z', '2026-11-21T09:00:00.000000Z', [5, 0, 10]);
  const later = (
    settled: readonly number[],
    since = '2026-11-21T09:00:00.000000Z',
    at = '2026-11-21T09:02:59.000000Z',
  ) => settledPerSecond(first, seen(at, since, settled));
  expect(later([5, 0, 14])).toBe(4);
  expect(later([0, 12, 6], '2026-11-21T09:01:00.000000Z', '2026-11-21T09:03:00.000000Z')).toBe(4);
  expect(later([12, 1, 1], '2026-11-21T09:02:00.000000Z', '2026-11-21T09:04:02.000000Z')).toBe(4 / 64);
  expect(later([0, 0, 0], '2026-11-21T09:09:00.000000Z', '2026-11-21T09:11:00.000000Z')).toBeNull();
  expect(later([5, 0, 10], undefined, '2026-11-21T09:02:58.000000Z')).toBeNull();
});
