// Bench: events are delivered to 1, 100 and 1,000 readers of the stream while jobs are accepted and run. Ten of the
// thousand readers never read.
import { connect, type Socket } from 'node:net';
import type { Bench, Metric } from './bench.ts';
import { costMetrics } from './cost.ts';
import { requestBytes } from './load/request.ts';
import { runLoad } from './load/run.ts';
import { until } from './pause.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Sse = {
  readonly one: number;
  readonly some: number;
  readonly many: number;
  /** How many of the `many` readers never read. */
  readonly neverRead: number;
  readonly connections: number;
  readonly seconds: number;
};

export const sse: Bench<Sse> = {
  name: 'sse',
  purpose: 'events delivered to 1, 100 and 1,000 readers, ten of which never read, while jobs are accepted and run',
  limitMs: { smoke: 30_000, real: 180_000 },
  parameters: {
    smoke: { one: 1, some: 5, many: 20, neverRead: 2, connections: 2, seconds: 0.25 },
    real: { one: 1, some: 100, many: 1_000, neverRead: 10, connections: 8, seconds: 8 },
  },

  async run({ one, some, many, neverRead, connections, seconds }: Sse, stage: Stage) {
    const service = await stage.start();
    const metrics: Metric[] = [];
    const alone = await measure(service, 0, 0, connections, seconds);
    metrics.push({ name: 'accept_p99_ms_without_readers', value: alone.acceptP99Ms, unit: 'ms' });
    const endStretch = service.stretch();
    let jobs = 0;
    const heard: boolean[] = [];
    for (const [count, paused] of [
      [one, 0],
      [some, 0],
      [many, neverRead],
    ] as const) {
      const { events, acceptP99Ms, accepted, elapsedMs, allHeard } = await measure(
        service,
        count,
        paused,
        connections,
        seconds,
      );
      metrics.push({ name: `events_per_s_${count}`, value: (events * 1000) / elapsedMs, unit: '1/s' });
      metrics.push({ name: `accept_p99_ms_${count}`, value: acceptP99Ms, unit: 'ms' });
      jobs += accepted;
      heard.push(allHeard);
    }
    const cost = costMetrics([endStretch()], jobs);
    await service.stop();
    return { metrics: [...metrics, ...cost], work: { readers: [one, some, many], neverRead, heard } };
  },
};

type Reader = { events: number; isOpen: boolean; readonly socket: Socket };

async function measure(service: Service, readers: number, paused: number, connections: number, seconds: number) {
  const open = Array.from({ length: readers }, (_, n) => openReader(service, n < paused));
  const reading = open.slice(paused);
  await until(() => (reading.every(({ isOpen }) => isOpen) ? true : undefined), {
    everyMs: 5,
    withinMs: 20_000,
    what: 'the streams',
  });
  const load = await runLoad(service, {
    path: '/plugin/noop/run',
    connections,
    until: { kind: 'time', ms: seconds * 1000 },
    expect: { status: 202 },
    sampleEvery: 0,
  });
  const events = reading.reduce((sum, reader) => sum + reader.events, 0);
  const allHeard = reading.every(reader => reader.events > 0);
  for (const { socket } of open) socket.destroy();
  const { completed: accepted, elapsedMs } = load;
  return { events, allHeard, accepted, elapsedMs, acceptP99Ms: load.p99Us / 1000 };
}

const eventLine = Buffer.from('\nevent: ');

/** Opens a reader that counts events. It misses an event whose line spans two chunks; there are few such events. */
function openReader(service: Service, neverReads: boolean): Reader {
  const { hostname, port, host } = service.url;
  const socket = connect({ host: hostname, port: Number(port) });
  const reader: Reader = { events: 0, isOpen: false, socket };
  socket.on('error', () => {});
  socket.write(requestBytes({ method: 'GET', path: '/events', host, token: service.token }));
  if (neverReads) socket.pause();
  else {
    socket.on('data', chunk => {
      reader.isOpen = true;
      for (let at = chunk.indexOf(eventLine); at >= 0; at = chunk.indexOf(eventLine, at + 8)) reader.events++;
    });
  }
  return reader;
}
