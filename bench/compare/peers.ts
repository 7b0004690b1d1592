// Bench: headgate and other job systems at the same work, in turns.

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

type Peers = {
  readonly rounds: number;
  readonly warmup: number;
  readonly one: number;
  readonly flight: number;
  readonly bulk: number;
  readonly samples: number;
  readonly runs: number;
  readonly smallFanout: number;
  readonly fanout: number;
  readonly largeFanout: number;
};

const synced = ['bullmq-always', 'graphile-worker', 'pg-boss', 'plainjob-full'];
const notSynced = ['bullmq-everysec', 'plainjob-normal'];
const turnMsMax = 300_000;
const peerFile = join(projectRoot, 'bench/peers/dist/main.js');
const run = promisify(execFile);

export const peers: Bench<Peers> = {
  name: 'peers',
  purpose: 'headgate beside BullMQ, graphile-worker, pg-boss and plainjob, in turns (npm install in bench/peers first)',
  limitMs: { smoke: 120_000, real: 3_600_000 },
  parameters: {
    smoke: {
      rounds: 1,
      warmup: 100,
      one: 20,
      flight: 200,
      bulk: 500,
      samples: 10,
      runs: 20,
      smallFanout: 10,
      fanout: 50,
      largeFanout: 500,
    },
    real: {
      rounds: 3,
      warmup: 10_000,
      one: 1_000,
      flight: 10_000,
      bulk: 40_000,
      samples: 300,
      runs: 500,
      smallFanout: 100,
      fanout: 1_000,
      largeFanout: 100_000,
    },
  },

  async run({ rounds, smallFanout, fanout, largeFanout, ...counts }: Peers, stage: Stage) {
    const fanouts = [smallFanout, fanout, largeFanout];
    const plan: TurnPlan = { ...counts, inFlight: 128, runsAtOnce: 32, pauseMs: 5, fanouts };
    const turns: { [name: string]: TurnFigures[] } = { headgate: [] };
    const missing: { [name: string]: string } = {};
    for (let round = 0; round < rounds; round++) {
      process.stderr.write(`round ${round + 1} of ${rounds}: headgate`);
      turns['headgate']!.push(await headgateTurn(stage, plan));
      for (const name of [...synced, ...notSynced]) {
        if (missing[name] !== undefined) continue;
        process.stderr.write(`, ${name}`);
        const figures = await peerTurn(name, plan);
        if (typeof figures === 'string') missing[name] = figures;
        else turns[name] = [...(turns[name] ?? []), figures];
      }
      process.stderr.write('\n');
    }
    // Who failed later is left out as a whole.
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

/** In a process of its own, with a server of its own. Its figures, or why there are none. */
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
    if (killed) return `not done within ${turnMsMax} ms`;
    return /^(?:\w*Error|error): .*$/m.exec(stderr)?.[0] ?? (error as Error).message.slice(0, 200);
  }
}
