// Many streams: what they share, how much memory they may take, and readers that never read.
import { expect, it, onTestFinished } from 'vitest';
import { everything } from '../../../actors/hub/filter.ts';
import { Hub } from '../../../actors/hub/hub.ts';
import { type Observations, type ObservationType, observationTypes } from '../../../actors/hub/protocol.ts';
import { ringSize } from '../../../actors/hub/ring.ts';
import { chunkCharsMax, FrameWriters, keptCharsMax } from '../../../service/events/frames.ts';
import {
  beatMs,
  EventStreams,
  type StreamOutlet,
  type StreamRights,
  streamBytesMax,
  streamsMax,
} from '../../../service/events/streams.ts';
import { until } from '../../service/gateway/until.ts';
import { startGateway } from '../../unit/http/gateway.ts';
import { bodyOf, openRaw } from './reader.ts';

function observe(hub: Hub, count: number): void {
  const group: Observations = {
    kind: 'jobs',
    type: 'job.completed',
    atUs: 5,
    plugin: 'echo',
    command: 'handle',
    ids: Buffer.alloc(16 * count),
  };
  hub.observe([group]);
}

/** An outlet that remembers what was written; while it is shut, writes do not get through. */
class Glass implements StreamOutlet {
  text = '';
  writes = 0;
  isShut = false;
  hasEnded = false;
  #resume: (() => void) | null = null;

  write(text: string): boolean {
    expect(this.#resume, 'written to while it was full').toBeNull();
    this.text += text;
    this.writes++;
    return !this.isShut;
  }

  onReady(resume: () => void): void {
    this.#resume = resume;
  }

  drink(): void {
    this.isShut = false;
    this.#resume?.();
    this.#resume = null;
  }

  end(): void {
    this.hasEnded = true;
  }

  get ids(): number[] {
    return [...this.text.matchAll(/^id: (\d+)$/gm)].map(match => Number(match[1]));
  }
}

/** The rights of a caller who may not see results. */
const rights = (): StreamRights => ({ withErrors: false, expiresAtMs: null });

function stage(count: number) {
  let reads = 0;
  class CountedHub extends Hub {
    override read(...wanted: Parameters<Hub['read']>) {
      reads++;
      return super.read(...wanted);
    }
  }
  const hub = new CountedHub();
  const streams = new EventStreams({ hub, nowMs: Date.now, generation: () => [1] });
  const glasses = Array.from({ length: count }, () => new Glass());
  const common = { filter: everything, after: null, rights };
  const closes = glasses.map(sink => streams.open({ sink, ...common }));
  onTestFinished(() => closes.forEach(close => void close()));
  return { hub, streams, glasses, reads: () => reads };
}

it('a thousand readers of the same are written once, and woken together', async () => {
  const { hub, glasses, reads } = stage(1000);
  for (let n = 1; n <= 50; n++) observe(hub, 1);
  await until('all have all', () => glasses.every(glass => glass.ids.length === 50));
  // One write says that the stream is open, and one chunk has all events.
  expect(Math.max(...glasses.map(({ writes }) => writes))).toBeLessThanOrEqual(3);
  expect(reads()).toBeLessThanOrEqual(10);
});

it('readers that all want something else have only so much kept for them', () => {
  const hub = new Hub();
  const feeds = new FrameWriters(hub);
  for (let groups = 0; groups < 8; groups++) observe(hub, ringSize / 8);
  const others = observationTypes.filter(type => type !== 'job.completed').slice(0, 5);
  for (let n = 0; n < 2 ** others.length; n++) {
    const types = new Set<ObservationType>(['job.completed', ...others.filter((_, bit) => (n >> bit) & 1)]);
    const { feed } = feeds.join({ ...everything, types }, false);
    let chars = 0;
    for (let at = 0; at < hub.newest; ) {
      const { text, upTo } = feed.after(at);
      [at, chars] = [upTo, chars + text.length];
    }
    expect(chars).toBeGreaterThan(keptCharsMax / 10);
    expect(feeds.keptChars).toBeLessThanOrEqual(keptCharsMax);
  }
});

it('nothing more is written to a reader that is full; it hears what it lost when it drinks again', async () => {
  const { hub, glasses } = stage(3);
  const [slow, ...others] = glasses;
  slow!.isShut = true;
  observe(hub, 3);
  await until('the others have it', () => others.every(({ ids }) => ids.length === 3));
  await until('the slow one is full', () => slow!.writes === 2);
  for (let n = 0; n < 10; n++) observe(hub, 1000);
  await until('the others are through', () => others.every(({ ids }) => ids.at(-1) === 10_003));
  expect(slow!.text.length).toBeLessThan(2 * chunkCharsMax);
  slow!.drink();
  await until('it has caught up', () => slow!.ids.at(-1) === 10_003);
  expect(slow!.text).toContain(`event: gap\ndata: {"at":`);
  expect(slow!.text).toContain(`"lost":${10_000 - ringSize},"reason":"too_slow"`);
});

it('a comment line comes every 15 s, and a stream ends when its token does', async () => {
  let nowMs = 1_000_000;
  const streams = new EventStreams({ hub: new Hub(), nowMs: () => nowMs, generation: () => [1] });
  const [glass, expiring] = [new Glass(), new Glass()];
  const common = { filter: everything, after: null };
  const expiresAtMs = nowMs + 2 * beatMs;
  onTestFinished(streams.open({ sink: glass, rights, ...common }));
  streams.open({ sink: expiring, rights: () => ({ withErrors: false, expiresAtMs }), ...common });
  expect(beatMs).toBe(15_000);
  for (const beats of [1, 2, 3]) {
    nowMs += beatMs;
    await until('a beat', () => glass.writes === 1 + beats && expiring.writes === 2);
  }
  expect(glass.text).toBe(`: connected\n\n${': beat\n\n'.repeat(3)}`);
  expect([expiring.hasEnded, expiring.writes, streams.count]).toEqual([true, 2, 1]);
});

it('a comment line comes when the clock is set back, too', async () => {
  let nowMs = 5_000_000;
  const streams = new EventStreams({ hub: new Hub(), nowMs: () => nowMs, generation: () => [1] });
  const glass = new Glass();
  onTestFinished(streams.open({ sink: glass, filter: everything, after: null, rights }));
  nowMs -= 3_600_000;
  await until('a beat', () => glass.writes === 2);
  nowMs += beatMs;
  await until('the next', () => glass.writes === 3);
  expect(glass.text).toBe(`: connected\n\n${': beat\n\n'.repeat(2)}`);
});

it('callers are looked at again when the configuration changes', async () => {
  let generation = 1;
  const streams = new EventStreams({ hub: new Hub(), nowMs: Date.now, generation: () => [generation] });
  const [staying, leaving] = [new Glass(), new Glass()];
  const common = { filter: everything, after: null };
  onTestFinished(streams.open({ sink: staying, rights, ...common }));
  streams.open({ sink: leaving, rights: () => (generation === 1 ? rights() : null), ...common });
  generation = 2;
  await until('one has ended', () => leaving.hasEnded);
  expect([staying.hasEnded, streams.count]).toEqual([false, 1]);
});

it('a reload gives an open stream the rights that its caller has now: errors or none, and another end', async () => {
  let generation = 1;
  let nowMs = 1_000_000;
  let current: StreamRights | null = { withErrors: true, expiresAtMs: null };
  const hub = new Hub();
  const streams = new EventStreams({ hub, nowMs: () => nowMs, generation: () => [generation] });
  const glass = new Glass();
  streams.open({ sink: glass, filter: everything, after: null, rights: () => current });
  const failAs = async (error: string) => {
    hub.observe([
      { kind: 'jobs', type: 'job.failed', atUs: 5, plugin: 'p', command: 'c', ids: Buffer.alloc(16), errors: [error] },
    ]);
    await until('it is told', () => glass.ids.at(-1) === hub.newest);
  };
  await failAs('first error');
  [generation, current] = [2, { withErrors: false, expiresAtMs: nowMs + 1000 }];
  await failAs('second error');
  [generation, current] = [3, { withErrors: true, expiresAtMs: nowMs + 1000 }];
  await failAs('third error');
  expect(glass.text).toContain('first error');
  expect(glass.text).not.toContain('second error');
  expect(glass.text).toContain('third error');
  expect(glass.hasEnded).toBe(false);
  nowMs += 1000;
  await until('it has ended', () => glass.hasEnded);
  expect(streams.count).toBe(0);
});

it('more streams than there may be are refused with 503', async () => {
  const { url, engine, server } = await startGateway();
  onTestFinished(() => server.close());
  const common = { filter: everything, after: null, rights };
  const closes = Array.from({ length: streamsMax }, () => engine.events.open({ sink: new Glass(), ...common }));
  const ask = () => fetch(`${url}/events`, { headers: { Authorization: 'Bearer root-token' } });
  const answer = await ask();
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
  expect(await answer.json()).toMatchObject({ code: 'too_many_streams' });
  for (const close of closes) close();
  const opened = await ask();
  expect(opened.status).toBe(200);
  await opened.body?.cancel();
  await until('it is forgotten', () => engine.events.count === 0);
});

it('ten readers that never read cost a bounded number of bytes, and the others nothing', async () => {
  const gateway = await startGateway();
  const { hub, events } = gateway.engine;
  onTestFinished(() => gateway.server.close());
  /** What was written to each stream after the server had said that it is full. */
  const streams: { waiting: number; longest: number; isFull: boolean }[] = [];
  const open = events.open.bind(events);
  events.open = options => {
    const stream = { waiting: 0, longest: 0, isFull: false };
    streams.push(stream);
    const { sink } = options;
    const outlet: StreamOutlet = {
      write(text) {
        if (stream.isFull) stream.waiting += text.length;
        stream.longest = Math.max(stream.longest, Buffer.byteLength(text));
        stream.isFull = !sink.write(text);
        return !stream.isFull;
      },
      onReady(resume) {
        sink.onReady(() => {
          stream.isFull = false;
          resume();
        });
      },
      end: () => sink.end(),
    };
    return open({ ...options, sink: outlet });
  };
  for (let n = 0; n < 10; n++) openRaw(gateway, '', 'root-token', true);
  await until('the ten are open', () => streams.length === 10);
  const reading = Array.from({ length: 5 }, () => openRaw(gateway, '', 'root-token'));
  await until('all are open', () => streams.length === 15);
  await until('the ten are full', () => {
    observe(hub, 300);
    return streams.slice(0, 10).every(({ isFull }) => isFull);
  });
  observe(hub, 3);
  for (const reader of reading) {
    await until('a reader has the newest', () => reader.text.includes(`id: ${hub.newest}\n`));
    const ids = [...bodyOf(reader.text).matchAll(/^id: (\d+)$/gm)].map(match => Number(match[1]));
    expect(ids.every((id, place) => place === 0 || id > ids[place - 1]!)).toBe(true);
  }
  expect(streams.every(({ waiting }) => waiting === 0)).toBe(true);
  // A full stream may hold two chunks: one before the server noticed, and the one with which it said so.
  for (const { longest } of streams) expect(2 * longest).toBeLessThanOrEqual(streamBytesMax);
}, 120_000);
