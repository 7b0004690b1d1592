// Bench: headgate and other job systems take turns at the same work.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Bench } from '../bench.ts';
import type { TurnFigures, TurnPlan } from '../peers/turn.ts';
import { projectRoot } from '../project.ts';
import type { Stage } from '../stage.ts';
import { contestMetrics, contestTable } from './comparison.ts';
import { headgateTurn } from './headgate.ts';
import { worksOf } from './works.ts';

type Peers = Pick<TurnPlan, 'warmup' | 'one' | 'seconds' | 'jobs' | 'samples' | 'runs'> & {
  readonly rounds: number;
  /** Fan-outs begin with a hundred children, and grow tenfold up to this number. */
  readonly children: number;
};

const own = 'headgate';
/** The peers whose acknowledged jobs are on disk. */
const synced = ['bullmq-always', 'graphile-worker', 'pg-boss', 'plainjob-full', 'restate'];
/** Peers with which headgate is not compared by a ratio. They take a turn only in the first round. */
const beside = ['bullmq-sandboxed', 'bullmq-everysec', 'plainjob-normal'];
/** Peers that do less work, because the full amount would take them minutes. `share`: the fraction of the jobs that such a peer gets. */
const slow: { readonly [peer: string]: { readonly share: number; readonly childrenMax: number } } = {
  restate: { share: 0.1, childrenMax: 10_000 },
  'bullmq-sandboxed': { share: 0.2, childrenMax: 10_000 },
};
const childrenMin = 100;
const turnMsMax = 300_000;
const peerFile = join(projectRoot, 'bench/peers/dist/main.js');
const run = promisify(execFile);

export const peers: Bench<Peers> = {
  name: 'peers',
  purpose:
    'headgate beside BullMQ, graphile-worker, pg-boss, plainjob and Restate, in turns (npm install in bench/peers)',
  limitMs: { smoke: 180_000, real: 3_600_000 },
  parameters: {
    smoke: { rounds: 1, warmup: 100, one: 20, seconds: 0.25, jobs: 1_000, samples: 10, runs: 20, children: 100 },
    real: {
      rounds: 2,
      warmup: 10_000,
      one: 500,
      seconds: 2,
      jobs: 100_000,
      samples: 200,
      runs: 300,
      children: 100_000,
    },
  },
  parts: [own, ...synced, ...beside],

  async run({ rounds, children, ...counts }: Peers, stage: Stage, parts: readonly string[]) {
    const fanouts: number[] = [];
    for (let size = childrenMin; size <= children; size *= 10) fanouts.push(size);
    const widths = { inFlight: 128, runsAtOnce: [32, 128] };
    const plan: TurnPlan = { ...counts, ...widths, pauseMs: 5, fanouts, fanoutMsMax: 60_000 };
    const turns: { [name: string]: TurnFigures[] } = {};
    const missing: { [name: string]: string } = {};
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}:`);
      const contestants = round === 0 ? [own, ...synced, ...beside] : [own, ...synced];
      for (const name of contestants) {
        if (!parts.includes(name) || missing[name] !== undefined) continue;
        process.stderr.write(` ${name}`);
        const figures = name === own ? await headgateTurn(stage, plan) : await peerTurn(name, planOf(name, plan));
        if (typeof figures === 'string') missing[name] = figures;
        else turns[name] = [...(turns[name] ?? []), figures];
      }
      process.stderr.write('\n');
    }
    // A peer that fails in any round is omitted entirely.
    for (const name of Object.keys(missing)) delete turns[name];
    const contest = { turns, works: worksOf(plan), synced, missing };
    return {
      metrics: contestMetrics(contest),
      table: contestTable(contest),
      work: { plan, contestants: Object.keys(turns) },
      circumstances: missing,
    };
  },
};

function planOf(name: string, plan: TurnPlan): TurnPlan {
  const { share, childrenMax } = slow[name] ?? { share: 1, childrenMax: Number.POSITIVE_INFINITY };
  const [warmup, jobs] = [plan.warmup * share, plan.jobs * share];
  return { ...plan, warmup, jobs, fanouts: plan.fanouts.filter(children => children <= childrenMax) };
}

/** Runs a turn in a process of its own, with a server of its own. Resolves with the figures, or the reason why there are none. */
async function peerTurn(name: string, plan: TurnPlan): Promise<TurnFigures | string> {
  if (!existsSync(peerFile)) return 'not installed: npm install in bench/peers';
  try {
    const options = { timeout: turnMsMax, maxBuffer: 2 ** 26 };
    const running = run(process.execPath, [peerFile, name, JSON.stringify(plan)], options);
    const end = () => running.child.kill();
    process.once('exit', end);
    const { stdout } = await running;
    process.off('exit', end);
    return JSON.parse(stdout) as TurnFigures;
  } catch (error) {
    const { killed, stderr = '' } = error as { killed?: boolean; stderr?: string };
    if (killed) return `not finished within ${turnMsMax} ms`;
    return /^(?:\w*Error|error): .*$/m.exec(stderr)?.[0] ?? (error as Error).message.slice(0, 200);
  }
}
