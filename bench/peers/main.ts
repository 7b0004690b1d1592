// The process of a peer. It takes one turn in a directory of its own, and prints its figures as JSON. Its arguments are
// the peer's name and the plan.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { type TurnPlan, takeTurn } from './turn.ts';

/** Each peer by its name. The packages of a peer are loaded only for its turn. */
const peers: { readonly [name: string]: () => Promise<Peer> } = {
  'bullmq-always': async () =>
    new (await import('./bullmq.ts')).BullMq({ appendfsync: 'always', handlers: 'in process' }),
  'bullmq-sandboxed': async () =>
    new (await import('./bullmq.ts')).BullMq({ appendfsync: 'always', handlers: 'sandboxed' }),
  'bullmq-everysec': async () =>
    new (await import('./bullmq.ts')).BullMq({ appendfsync: 'everysec', handlers: 'in process' }),
  'graphile-worker': async () => new (await import('./graphile-worker.ts')).GraphileWorker(),
  'pg-boss': async () => new (await import('./pg-boss.ts')).Boss(),
  'plainjob-full': async () => new (await import('./plainjob.ts')).PlainJob('full'),
  'plainjob-normal': async () => new (await import('./plainjob.ts')).PlainJob('normal'),
  restate: async () => new (await import('./restate.ts')).Restate(),
};

const [name, plan] = process.argv.slice(2) as [string, string];
const directory = mkdtempSync(join(tmpdir(), 'headgate-peer-'));
// A database server may have to run as another user.
chmodSync(directory, 0o755);
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => process.exit(1));
const peer = await peers[name]!();
const figures = await takeTurn(peer, directory, JSON.parse(plan) as TurnPlan);
// A peer that was too slow might not stop in time either; its server ends with this process.
if (figures.shortfall === null) await peer.stop();
process.stdout.write(JSON.stringify(figures), () => process.exit(0));
