// Bench: a backup of ten million jobs, written while the service accepts more.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { atMost, type Bench } from './bench.ts';
import { runAccepting } from './load/accepting.ts';
import { sizeMb } from './scale/directory-size.ts';
import type { Stage } from './stage.ts';

type Backup = {
  readonly jobs: number;
  /** The number of jobs in one request. */
  readonly payloads: number;
  /** The length of the text in the payload of each job. */
  readonly payloadBytes: number;
  readonly connections: number;
  /**
   * The length of each measurement of calls. One measurement precedes the backup; during the backup, they follow each
   * other.
   */
  readonly seconds: number;
};

const path = '/plugin/noop/run';

export const backup: Bench<Backup> = {
  name: 'backup',
  purpose: 'a backup of ten million jobs, and the latency of accepting meanwhile',
  limitMs: { smoke: 60_000, real: 1_800_000 },
  parameters: {
    smoke: { jobs: 2_000, payloads: 500, payloadBytes: 230, connections: 4, seconds: 0.25 },
    real: { jobs: 10_000_000, payloads: 10_000, payloadBytes: 230, connections: 64, seconds: 5 },
  },

  async run({ jobs, payloads, payloadBytes, connections, seconds }: Backup, stage: Stage) {
    const service = await stage.start({ service: { max_waiting: 2 * jobs } });
    const caller = service.caller();
    const filler = 'x'.repeat(payloadBytes);
    const list = Array.from({ length: payloads }, (_, n) => ({ n, filler }));
    const body = JSON.stringify({ delay: '7d', payloads: list });
    for (let stored = 0; stored < jobs; stored += payloads) await caller.sendBatch(`${path}/batch`, body, payloads);
    const plan = { path, connections, directory: stage.directory, seconds };
    const alone = await runAccepting(service, plan);
    const stateMb = sizeMb(stage.state);
    const name = 'bench';
    let isOver = false;
    const startMs = performance.now();
    const written = caller.post('/system/backup', { path: name }).then(() => {
      isOver = true;
      return performance.now() - startMs;
    });
    written.catch(() => {
      isOver = true;
    });
    const during: number[] = [];
    do during.push((await runAccepting(service, plan)).p99Us);
    while (!isOver);
    const tookMs = await written;
    // A measurement that ends after the backup counts, too.
    const p99Us = during.toSorted((a, b) => a - b)[Math.floor(during.length / 2)]!;
    const place = join(stage.directory, 'backups', name);
    const copyMb = sizeMb(place);
    rmSync(place, { recursive: true });
    await service.stop();
    return {
      metrics: [
        { name: 'backup_s', value: tookMs / 1000, unit: 's', target: atMost(60) },
        { name: 'accept_p99_ratio', value: p99Us / alone.p99Us, unit: '', target: atMost(2) },
        { name: 'accept_p99_alone_ms', value: alone.p99Us / 1000, unit: 'ms' },
        { name: 'accept_p99_ms', value: p99Us / 1000, unit: 'ms' },
        { name: 'state_mb', value: stateMb, unit: 'MB' },
        { name: 'backup_mb', value: copyMb, unit: 'MB' },
      ],
      work: { jobs, payloadBytes },
    };
  },
};
