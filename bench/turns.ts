// Bench: the CPU time of the longest turn of the ledger, for work whose size plugins and callers decide, and how fast
// this work is done.
import { join } from 'node:path';
import { atMost, type Bench, type Metric } from './bench.ts';
import type { Stage } from './stage.ts';
import type { Sizes } from './turns/case.ts';
import { cases } from './turns/cases.ts';
import { notedTurns, notingTurns } from './turns/probe.ts';

/** The maximum CPU time of a turn by law 7 in ARCHITECTURE.md. */
const turnMsMax = 50;

export const turns: Bench<Sizes> = {
  name: 'turns',
  purpose:
    'the CPU time of the longest turn of the ledger, for each kind of work whose size plugins and callers decide',
  limitMs: { smoke: 120_000, real: 900_000 },
  parameters: {
    smoke: {
      characters: 200,
      conditions: 20,
      entries: 2_000,
      updates: 50,
      childBytes: 100_000,
      children: 4,
      resultBytes: 1_000_000,
      events: 600,
    },
    real: {
      characters: 270,
      conditions: 200,
      entries: 100_000,
      updates: 100,
      childBytes: 1_000_000,
      children: 60,
      resultBytes: 10_000_000,
      events: 10_000,
    },
  },
  parts: cases.map(({ name }) => name),

  async run(sizes, stage: Stage, parts) {
    const metrics: Metric[] = [];
    const work: unknown[] = [];
    for (const { name, pipelines = [], prepare, run } of cases) {
      if (!parts.includes(name)) continue;
      const file = join(stage.directory, `turns-${name}`);
      const service = await stage.start({ pipelines, nodeOptions: [notingTurns(file)] });
      const caller = service.caller();
      await prepare?.(caller, sizes);
      const before = notedTurns(file).length;
      const startMs = performance.now();
      const units = await run(caller, sizes);
      const seconds = (performance.now() - startMs) / 1000;
      const longest = Math.max(0, ...notedTurns(file).slice(before));
      metrics.push({ name: `${name}_turn_max_ms`, value: longest, unit: 'ms', target: atMost(turnMsMax) });
      metrics.push({ name: `${name}_per_s`, value: units / seconds, unit: '1/s' });
      work.push([name, units]);
      await service.kill();
      stage.clear();
    }
    return { metrics, work };
  },
};
