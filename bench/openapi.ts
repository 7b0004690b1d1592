// Bench: reads of the OpenAPI document of many commands, which is built for the first request and then cached.
import { createHash } from 'node:crypto';
import type { Bench } from './bench.ts';
import { memoryMetrics } from './cost.ts';
import { Connection } from './load/connection.ts';
import { requestBytes } from './load/request.ts';
import { readMetrics, readOften } from './read-load.ts';
import type { Service } from './service.ts';
import type { Stage } from './stage.ts';

type Openapi = { readonly instances: number; readonly connections: number; readonly seconds: number };

const path = '/openapi.json';

export const openapi: Bench<Openapi> = {
  name: 'openapi',
  purpose: 'GET /openapi.json of many plugins: the first one, cached ones, and 304',
  limitMs: { smoke: 30_000, real: 120_000 },
  parameters: {
    smoke: { instances: 20, connections: 4, seconds: 0.25 },
    real: { instances: 500, connections: 64, seconds: 5 },
  },

  async run({ instances, connections, seconds }: Openapi, stage: Stage) {
    const names = Array.from({ length: instances }, (_, n) => `fan-${n}`);
    const service = await stage.start({ instances: Object.fromEntries(names.map(name => [name, { uses: 'fan' }])) });
    const first = await readOnce(service);
    const second = await readOnce(service);
    const { paths } = JSON.parse(first.body.toString()) as { paths: { [path: string]: object } };
    const commandPaths = Object.keys(paths).filter(name => name.startsWith('/plugin/fan-'));
    if (!first.body.equals(second.body)) throw new Error('the second document differs from the first');
    const answer = await fetch(new URL(path, service.url));
    await answer.arrayBuffer();
    const headers = { 'If-None-Match': answer.headers.get('ETag') ?? '' };
    const cached = await readOften(service, { path, connections, seconds }, stage);
    const unchanged = await readOften(service, { path, connections, seconds, headers, status: 304 }, stage);
    const memory = memoryMetrics(service.usage());
    await service.stop();
    return {
      metrics: [
        { name: 'first_ms', value: first.ms, unit: 'ms' },
        { name: 'second_ms', value: second.ms, unit: 'ms' },
        { name: 'document_kb', value: first.body.length / 1024, unit: 'KB' },
        ...readMetrics('cached', cached),
        ...readMetrics('unchanged', unchanged),
        ...memory,
      ],
      work: { commands: createHash('sha256').update(commandPaths.join()).digest('hex') },
    };
  },
};

/** Reads the document once on an open connection. */
async function readOnce(service: Service): Promise<{ readonly ms: number; readonly body: Buffer }> {
  const { hostname, port, host } = service.url;
  const connection = await Connection.open(hostname, Number(port));
  const startMs = performance.now();
  const { status, body } = await connection.ask(requestBytes({ method: 'GET', path, host, token: service.token }));
  const ms = performance.now() - startMs;
  connection.close();
  if (status !== 200) throw new Error(`GET ${path}: ${status}`);
  return { ms, body };
}
