// GET /events over HTTP: what is written, who may read it, what is filtered, and what a reader that comes back gets.
import { randomInt } from 'node:crypto';
import { expect, test } from 'vitest';
import { everythingToken, writeConfiguration } from '../../service/gateway/configuration.ts';
import { type Job, shareGateway, startGateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { bodyOf, openRaw, openSource, type Seen } from './reader.ts';

const plugins = {
  echo: `export const handle = () => ({ result: 'secret result' });
export const fail = () => { throw Object.assign(new Error('it broke\\nin two lines'), { retry: false }); };`,
  maybe: `export const handle = ({ event }) => event.payload.item.fail ? { status: 'error', error: 'no', retry: false } : {};`,
  teller: `export const handle = ({ event }, { emit }) => {
  emit({ type: 'news', payload: event.payload });
  return {};
};`,
};
const pipelines = [
  { name: 'line', on: 'go', steps: [{ uses: 'echo' }] },
  { name: 'heard', on: 'news', steps: [{ uses: 'echo' }] },
  { name: 'inner', on: 'inner', steps: [{ uses: 'maybe', foreach: 'payload.items', on_error: 'continue' }] },
  { name: 'outer', on: 'outer', steps: [{ uses: 'teller' }, { call: 'inner' }] },
];
const scoped = (scope: string, more: object = {}) => ({
  name: scope,
  token: `token-${scope}`,
  scopes: [scope],
  ...more,
});
const tokens = [{ name: 'test', token: everythingToken, scopes: ['*'] }];

const scopes = ['events:ro', 'events:rw', 'jobs:rw', 'plugin:rw', 'system:rw'];
const both = { ...scoped('both'), scopes: ['events:rw', 'jobs:result:ro'] };
const shared = shareGateway({
  plugins,
  pipelines,
  api: { auth: { tokens: [...tokens, both, ...scopes.map(scope => scoped(scope))] } },
});

function typesOf(seen: readonly Seen[], jobId?: string): string[] {
  return seen.filter(({ data }) => jobId === undefined || data['job_id'] === jobId).map(({ type }) => type);
}

test('opens a Server-Sent Events stream with exactly these headers', async () => {
  const raw = openRaw(shared);
  await until('the head', () => raw.text.includes('connected'));
  const head = raw.text.slice(0, raw.text.indexOf('\r\n\r\n')).split('\r\n');
  expect(head[0]).toBe('HTTP/1.1 200 OK');
  expect(head).toContain('Content-Type: text/event-stream');
  expect(head).toContain('Cache-Control: no-cache');
  expect(head).toContain('Connection: keep-alive');
});

test('a frame is id, event, and one line of JSON with at and the fields of its type', async () => {
  const raw = openRaw(shared);
  await until('the head', () => raw.text.includes('connected'));
  const id = await shared.submit('echo/fail');
  await until('the whole failure', () => /event: job\.failed\ndata: .*\n\n/.test(raw.text));
  const frames = bodyOf(raw.text).split('\n\n').slice(1, -1);
  const shapes = frames.map(frame => /^id: (\d+)\nevent: ([a-z._]+)\ndata: (\{.*\})$/.exec(frame)!);
  expect(shapes.map(shape => shape[2])).toEqual(['job.enqueued', 'job.started', 'job.failed']);
  const data = shapes.map(shape => JSON.parse(shape[3]!));
  for (const { at, ...fields } of data.slice(0, 2)) {
    expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    expect(fields).toEqual({ job_id: id, plugin: 'echo', command: 'fail', root_id: id, run_id: null });
  }
  expect(data[2].error).toContain('it broke\nin two lines');
  const ids = shapes.map(shape => Number(shape[1]));
  expect(ids).toEqual([ids[0], ids[0]! + 1, ids[0]! + 2]);
});

test('results are never in it; what went wrong only for who may see results', async () => {
  const [blind, seeing] = [await openSource(shared, '', 'token-events:ro'), await openSource(shared, '', 'token-both')];
  await shared.finished('echo/handle');
  await shared.submit('echo/fail');
  const failed = (seen: readonly Seen[]) => seen.find(({ type }) => type === 'job.failed');
  await until('both saw the failure', () => failed(blind.seen) && failed(seeing.seen));
  expect(failed(blind.seen)!.data).not.toHaveProperty('error');
  expect(failed(seeing.seen)!.data['error']).toContain('it broke');
  expect(JSON.stringify([blind.seen, seeing.seen])).not.toContain('secret result');
});

test('needs events:ro, events:rw or *', async () => {
  const status = async (scope: string) => {
    const answer = await fetch(`${shared.url}/events`, { headers: { Authorization: `Bearer token-${scope}` } });
    await answer.body?.cancel();
    return answer.status;
  };
  expect(await Promise.all(scopes.map(status))).toEqual([200, 200, 403, 403, 403]);
  expect((await fetch(`${shared.url}/events`)).status).toBe(401);
});

test('an unknown type is refused by name, and so are bad ids', async () => {
  const refused = async (query: string) => {
    const { status, body } = await shared.call('GET', `/events?${query}`);
    return `${status} ${body['detail']}`;
  };
  expect(await refused('types=job.*,jobs.started')).toContain(
    '400 the query parameter "types" has "jobs.started", which matches no type of event; did you mean "job.started"?',
  );
  expect(await refused('types=jobs.*')).toContain('did you mean "job.*"?');
  expect(await refused('types=')).toContain('400 the query parameter "types" must be');
  for (const name of ['job_id', 'root', 'run'])
    expect(await refused(`${name}=7`)).toContain(`400 the query parameter "${name}" must be the id of a job`);
  expect(await refused('last_event_id=-1')).toContain('400 the query parameter "last_event_id" must be');
});

test('filters by type and by job', async () => {
  const ends = await openSource(shared, '?types=job.completed,pipeline.*');
  const run = await shared.run('line');
  await until('the run ended', () => typesOf(ends.seen, run).includes('pipeline.completed'));
  expect(typesOf(ends.seen)).toEqual(['pipeline.started', 'job.completed', 'job.completed', 'pipeline.completed']);
  const [first, second] = [await shared.finished('echo/handle'), await shared.finished('echo/handle')];
  const one = await openSource(shared, `?job_id=${second.job_id}&last_event_id=0`);
  await until('its end', () => typesOf(one.seen).includes('job.completed'));
  expect(typesOf(one.seen)).toEqual(['job.enqueued', 'job.started', 'job.completed']);
  expect(JSON.stringify(one.seen)).not.toContain(first.job_id);
});

test('filters by tree and by run, also what a reader that comes back gets', async () => {
  const all = await openSource(shared);
  const runs = await Promise.all([0, 1].map(() => shared.ran('outer', { items: [{}, { fail: true }] })));
  const [outer] = runs.map(run => run.job_id);
  const over = (command: string) =>
    all.seen.filter(({ type, data }) => type === 'pipeline.completed' && data['command'] === command).length === 2;
  await until('both have ended, and what their events started', () => over('outer') && over('heard'));
  const tree = await shared.tree(outer!);
  const idsOf = (wanted: (job: Job) => boolean) => tree.filter(wanted).map(({ job_id: id }) => id);
  const [inner, news] = ['inner', 'heard'].map(
    command => idsOf(job => job.plugin === 'pipeline' && job.command === command)[0]!,
  );
  const ofNews = idsOf(job => job.job_id === news || job.parent_job_id === news);
  const ofInner = idsOf(job => job.job_id === inner || job.plugin === 'maybe');
  const ids = idsOf(() => true);
  expect([ids.length, ofNews.length, ofInner.length]).toEqual([7, 2, 3]);
  const cases: readonly [query: string, ids: readonly string[]][] = [
    [`root=${outer}`, ids],
    [`run=${outer}`, ids.filter(id => !ofNews.includes(id))],
    [`run=${inner}`, ofInner],
    [`run=${outer}&job_id=${inner}`, [inner!]],
  ];
  for (const [query, wanted] of cases) {
    const expected = all.seen.filter(({ data }) => wanted.includes(String(data['job_id'])));
    const { seen } = await openSource(shared, `?last_event_id=0&${query}`);
    await until(`all of ${query}`, () => seen.length >= expected.length);
    expect(seen).toEqual(expected);
  }
  const about = (id: string) => all.seen.filter(({ data }) => data['job_id'] === id);
  for (const { data } of ids.flatMap(about)) expect(data['root_id']).toBe(outer);
  expect(about(ofInner.find(id => id !== inner)!)[0]!.data).toMatchObject({ root_id: outer, run_id: inner });
  expect(about(outer!)[0]!.data['run_id']).toBe(null);
  const ends = about(inner!).filter(({ type }) => type === 'job.completed' || type === 'pipeline.completed');
  for (const { data } of ends) expect(data).toMatchObject({ run_id: outer, counts: { succeeded: 1, failed: 1 } });
  expect(ends).toHaveLength(2);
});

test('the events of a run that ends dead are job.dead and pipeline.failed', async () => {
  const gateway = await startGateway({
    service: { max_jobs_per_root: 3 },
    plugins: {
      many: "export const handle = () => ({ events: Array(4).fill({ type: 'news', payload: { items: [] } }) });",
      listener: plugins.echo,
    },
    // The runs create no job.
    pipelines: [{ name: 'heard', on: 'news', steps: [{ uses: 'listener', foreach: 'payload.items' }] }],
  });
  const { seen } = await openSource(gateway, '?types=job.dead,job.failed,pipeline.failed');
  await gateway.submit('many/handle');
  await until('the run has failed', () => typesOf(seen).includes('pipeline.failed'));
  expect(typesOf(seen)).toEqual(['job.dead', 'pipeline.failed']);
  const id = String(seen[0]!.data['job_id']);
  expect(seen.map(({ data }) => data)).toEqual(
    seen.map(() => expect.objectContaining({ job_id: id, plugin: 'pipeline', counts: expect.any(Object) })),
  );
  expect((await gateway.job(id)).status).toBe('dead');
});

test('a filter finds what is rare among very many events', async () => {
  const rare = await shared.finished('echo/handle');
  await shared.ran('inner', { items: Array.from({ length: 600 }, () => ({})) });
  const { seen } = await openSource(shared, `?last_event_id=0&root=${rare.job_id}`);
  await until('its end', () => seen.length === 3);
  expect(typesOf(seen)).toEqual(['job.enqueued', 'job.started', 'job.completed']);
});

test('last_event_id and Last-Event-ID replay what came after; the header counts more', async () => {
  const live = await openSource(shared);
  const id = await shared.submit('echo/handle');
  await until('its end', () => typesOf(live.seen).includes('job.completed'));
  const [enqueued, started, completed] = live.seen;
  const again = await openSource(shared, `?last_event_id=${enqueued!.id}`);
  await until('the replay', () => again.seen.length === 2);
  expect(again.seen).toEqual([started, completed]);
  expect(started!.data['job_id']).toBe(id);
  const answer = await fetch(`${shared.url}/events?last_event_id=${enqueued!.id}`, {
    headers: { Authorization: `Bearer ${everythingToken}`, 'Last-Event-ID': started!.id },
  });
  const reader = answer.body!.getReader();
  let text = '';
  while (!text.includes('\ndata')) text += Buffer.from((await reader.read()).value!).toString();
  await reader.cancel();
  expect(text).not.toContain(`id: ${started!.id}\n`);
  expect(text).toContain(`id: ${completed!.id}\n`);
});

test('types=gap gives gaps alone', async () => {
  const source = await openSource(shared, '?types=gap&last_event_id=8000000000000000');
  await until('the gap', () => source.seen.length > 0);
  const other = await openSource(shared, '?types=gap,job.completed');
  await shared.finished('echo/handle');
  await until('the end of a job', () => other.seen.length > 0);
  expect(typesOf(other.seen)).toEqual(['job.completed']);
  expect(typesOf(source.seen)).toEqual(['gap']);
});

test('an id from the future, or that is none, gives a gap', async () => {
  const source = await openSource(shared, '?last_event_id=8000000000000000');
  await until('the gap', () => source.seen.length > 0);
  expect(source.seen[0]).toMatchObject({ type: 'gap', data: { lost: null, reason: 'unknown_id' } });
  await shared.finished('echo/handle');
  await until('what comes after', () => typesOf(source.seen).includes('job.completed'));
});

test('more than the ring holds gives a gap with the number lost, and then goes on without holes', async () => {
  const gateway = await startGateway({
    plugins,
    pipelines: [{ name: 'wide', on: 'wide', steps: [{ uses: 'echo', foreach: 'payload.list' }] }],
  });
  const live = await openSource(gateway);
  await gateway.finished('echo/handle');
  await until('its end', () => live.seen.length === 3);
  const last = Number(live.seen.at(-1)!.id);
  // Three events of each child: more than the ring holds.
  await gateway.ran('wide', { list: Array(1500).fill(0) });
  const late = await openSource(gateway, `?last_event_id=${last}`);
  await until('the whole ring', () => late.seen.length >= 4097);
  const [gap, ...rest] = late.seen;
  expect(gap).toMatchObject({ type: 'gap', data: { reason: 'too_slow' } });
  expect(Number(gap!.id)).toBe(last + (gap!.data['lost'] as number));
  expect(rest.map(({ id }) => Number(id))).toEqual(rest.map((_, place) => Number(gap!.id) + 1 + place));
});

test('a restart: the client comes back by itself, hears of the gap, and ids go on', async () => {
  // On an IP address of its own, the port stays free while the service is away.
  const ip =
    process.platform === 'linux' ? `127.${randomInt(1, 255)}.${randomInt(256)}.${randomInt(1, 255)}` : '127.0.0.1';
  const gateway = await startGateway({ plugins, api: { listen: `${ip}:0` } });
  // From now on at the same address.
  const { host } = new URL(gateway.url);
  await gateway.term();
  writeConfiguration(gateway.directory, { plugins, api: { listen: host } });
  await gateway.start();
  const source = await openSource(gateway);
  await gateway.finished('echo/handle');
  await until('its end', () => typesOf(source.seen).includes('job.completed'));
  const before = Number(source.seen.at(-1)!.id);
  const count = source.seen.length;
  await gateway.restart();
  await until('the client is back', () => source.seen.length > count);
  await gateway.finished('echo/handle');
  await until('the next end', () => typesOf(source.seen.slice(count)).includes('job.completed'));
  const after = source.seen.slice(count);
  expect(after[0]).toMatchObject({ type: 'gap', data: { lost: null, reason: 'restarted' } });
  for (const { id } of after) expect(Number(id)).toBeGreaterThan(before);
});

test('stays open over a reload, which it tells; ends when its token is gone', async () => {
  const withTokens = (...more: object[]) => ({ plugins, api: { auth: { tokens: [...tokens, ...more] } } });
  await shared.reload(withTokens(scoped('events:ro')));
  const staying = await openSource(shared);
  const leaving = openRaw(shared, '', 'token-events:ro');
  await until('it is open', () => leaving.text.includes('connected'));
  await shared.reload(withTokens());
  await until('the reload is told', () => typesOf(staying.seen).includes('plugin.loaded'));
  expect(staying.seen[0]).toMatchObject({ type: 'config.reloaded', data: { plugins: 3, kept: '' } });
  expect(staying.seen[1]).toMatchObject({ type: 'plugin.loaded', data: { plugin: 'echo', version: '1.0.0' } });
  await until('the stream of the token that is gone has ended', () => leaving.text.endsWith('0\r\n\r\n'));
  await shared.finished('echo/handle');
  await until('the other goes on', () => typesOf(staying.seen).includes('job.completed'));
  expect(staying.opens).toBe(1);
});

test('a reload that takes the results away and sets an end counts for streams that are open', async () => {
  const reading = (more: object) => ({ name: 'reading', token: 'token-reading', ...more });
  const reload = (token: object) =>
    shared.reload({ plugins, pipelines, api: { auth: { tokens: [...tokens, reading(token)] } } });
  const failures = (text: string) =>
    text
      .split('\n')
      .slice(0, -1)
      .filter(line => line.startsWith('data: ') && line.includes('"fail"'));
  // On a busy machine the token may expire before the failure is reported; then it tries again with a token that lasts longer.
  for (let lastsMs = 1000; ; lastsMs *= 2) {
    await reload({ scopes: ['events:ro', 'jobs:result:ro'] });
    const raw = openRaw(shared, '?types=job.failed', 'token-reading');
    await until('it is open', () => raw.text.includes('connected'));
    await shared.finished('echo/fail');
    await until('the first failure', () => failures(raw.text).length === 1);
    expect(failures(raw.text)[0]).toContain('it broke');
    const expiresAtMs = Date.now() + lastsMs;
    await reload({ scopes: ['events:ro'], expires_at: new Date(expiresAtMs).toISOString() });
    await shared.finished('echo/fail');
    await until(
      'the second failure, or the end',
      () => failures(raw.text).length === 2 || raw.text.endsWith('0\r\n\r\n'),
    );
    if (failures(raw.text).length < 2) continue;
    expect(failures(raw.text)[1]).not.toContain('error');
    await until('the stream has ended', () => raw.text.endsWith('0\r\n\r\n'));
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
    return;
  }
});

test('ends when its token expires', async () => {
  // On a busy machine the token may expire before it is used; then it tries again with a token that lasts longer.
  for (let lastsMs = 500; ; lastsMs *= 2) {
    const expiresAtMs = Date.now() + lastsMs;
    const expiring = scoped('events:ro', { expires_at: new Date(expiresAtMs).toISOString() });
    await shared.reload({ plugins, api: { auth: { tokens: [...tokens, expiring] } } });
    const raw = openRaw(shared, '', 'token-events:ro');
    await until('an answer', () => raw.text.includes('connected') || raw.text.includes('401 '));
    if (raw.text.includes('401 ')) continue;
    await until('the token has expired', () => raw.text.endsWith('0\r\n\r\n'));
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs);
    return;
  }
});
