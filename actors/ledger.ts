// The ledger thread: the store, and the actors that write it, in turns. What it says to the edge goes as packets.

import { randomBytes, randomInt } from 'node:crypto';
import { statfsSync } from 'node:fs';
import { parentPort } from 'node:worker_threads';
import type { Config } from '../config/config.ts';
import { systemClock, timerMsMax } from '../runtime/clock.ts';
import { startHost } from '../runtime/host/host.ts';
import type { PluginHost } from '../runtime/host/port.ts';
import { makeBlockKeys } from '../runtime/ids.ts';
import { type Link, openLink } from '../runtime/link.ts';
import { startLoop } from '../runtime/loop.ts';
import { givenData } from '../runtime/spare-thread.ts';
import { openStore, StoreHeld } from '../runtime/store/lmdb.ts';
import { type Store, StoreFault, StoreFull } from '../runtime/store/store.ts';
import { deathCounter } from '../runtime/supervisor.ts';
import type { Actor, ReplyTo } from '../runtime/turn.ts';
import { type InnerMessage, startJobActor } from './job/actor.ts';
import { newestBlock } from './job/block.ts';
import { Gauges } from './job/gauges.ts';
import { Idempotency } from './job/idempotency.ts';
import type { Refusal, SubmitReply } from './job/protocol.ts';
import type { Slot } from './job/slot.ts';
import { startPipelineActor } from './pipeline/actor.ts';
import type { Begun } from './pipeline/protocol.ts';
import { startVaultActor, type VaultActor } from './vault/actor.ts';
import { type KeySource, keyVariable, readUnlockKey, settleKeys } from './vault/unlock-key.ts';

/** What the edge hands to the thread at its start. */
export type LedgerData = { readonly config: Config; readonly gauges: SharedArrayBuffer };

/** From the ledger to whoever started it, beside the packets of actors. */
export type LedgerNotice =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly message: string;
      readonly fields: object;
    }
  /** The service must end with this exit status. */
  | { readonly kind: 'fatal'; readonly exitStatus: number; readonly message: string };

/** Exit statuses (decisions, sections 4 and 8). */
const exitHeld = 75;
const exitIo = 74;
const exitBug = 70;

/** Below this much free room on the disk new work is refused; what runs may still be written. */
export const diskReserveBytes = 64 * 2 ** 20;
/** Of a small disk, this part of it is enough. */
const diskReservePart = 0.05;
const diskCheckMs = 1_000;
const pruneMs = 2_000;
/** The actors are made anew from the store at most so often. */
const intensity = { deathsMax: 3, withinMs: 10_000 };

function run({ config: first, gauges: shared }: LedgerData): void {
  const gauges = new Gauges(shared);
  const clock = systemClock();
  const tooManyDeaths = deathCounter(intensity);
  /** Those that have not ended: of the slots, and quarantines that are being closed. */
  const hosts = new Set<PluginHost>();
  let config = first;
  let alarm: NodeJS.Timeout | undefined;
  /** Counts the lives of the actors: what was meant for an earlier one is dropped. */
  let life = 0;
  /** up: work is done. resting: the disk is full. leaving: the hosts of the life before are still ending. */
  let condition: 'up' | 'resting' | 'leaving' = 'resting';
  /** Who asked for the stop; from then on no life begins. */
  let stopper: ReplyTo | null = null;
  /** What the actors take the disk to have; a new life takes it to have room. */
  let hadRoom = true;

  const link: Link = openLink({
    thread: 'ledger',
    port: parentPort!,
    onTold(actor, message) {
      const inner = message as InnerMessage;
      if (inner.kind === 'reconfigure') config = inner.config;
      else if (inner.kind === 'stop') stopper = inner.replyTo;
      loop.deliver(actor, message);
    },
  });
  const notify = (notice: LedgerNotice): void => {
    link.tell('supervisor', notice);
    link.flush();
  };
  const store = openOrTell(config.state.path, notify);
  if (!store) return;
  const blockKeys = makeBlockKeys(() => randomInt(2 ** 32), newestBlock(store));

  const loop = startLoop({
    store,
    clock,
    schedule: turn =>
      setImmediate(() => {
        turn();
        link.flush();
      }),
    send: (actor, message) => link.tell(actor, message as object),
    reply: link.reply,
    onFailure: fail,
  });

  /** A turn failed: memory and disk may differ. Everything is made anew from what is on disk. */
  function fail(error: unknown, unanswered: readonly unknown[]): void {
    const { message, stack } = error as Error;
    if (error instanceof StoreFault) {
      notify({ kind: 'fatal', exitStatus: exitIo, message: `the ledger cannot be written: ${message}` });
      return;
    }
    const full = error instanceof StoreFull;
    notify({
      kind: 'log',
      level: 'error',
      message: full ? 'the disk is full' : 'a turn failed',
      fields: { error: stack ?? message },
    });
    if (!full && tooManyDeaths(Date.now())) {
      notify({ kind: 'fatal', exitStatus: exitBug, message: `the ledger failed too often: ${message}` });
      return;
    }
    const refusal = full ? 'disk_full' : 'unavailable';
    for (const asked of unanswered) refuse(asked, refusal);
    rest(refusal);
  }

  /**
   * Ends the life of the actors. A new one begins when no plugin code of this one runs any more, and the disk has room;
   * or the stop that was asked for is answered then.
   */
  function rest(refusal: Refusal): void {
    life++;
    condition = 'leaving';
    clearTimeout(alarm);
    const refuser: Actor = {
      receive(messages) {
        for (const message of messages) refuse(message, refusal);
      },
    };
    loop.setActors({ job: refuser, pipeline: refuser, vault: refuser });
    void Promise.all([...hosts].map(host => host.stop(0))).then(() => {
      condition = 'resting';
      if (stopper === null) {
        if (diskHasRoom()) begin();
        return;
      }
      link.reply(stopper, { kind: 'stopped' });
      link.flush();
    });
  }

  function refuse(message: unknown, refusal: Refusal): void {
    const { kind, replyTo } = message as { kind: string; replyTo?: ReplyTo };
    if (!replyTo) return;
    if (kind !== 'stop' && kind !== 'hosts_stopped')
      link.reply(replyTo, { kind: 'refused', refusal } satisfies SubmitReply);
    // Else it is answered when the last life has left.
    else if (condition === 'resting') link.reply(replyTo, { kind: 'stopped' });
  }

  function begin(): void {
    condition = 'up';
    hadRoom = true;
    const current = ++life;
    const tell = (actor: string, message: object): void => {
      if (current === life) loop.deliver(actor, message);
    };
    const toSelf = (message: InnerMessage): void => tell('job', message);
    const idempotency = new Idempotency(store!);
    const vault = openVaultActor(store!);
    const job = startJobActor({
      idempotency,
      reader: store!,
      config,
      blockKeys,
      random: Math.random,
      gauges,
      nowMs: Math.floor(clock.nowUs() / 1000),
      self: toSelf,
      deliver: vault.deliver,
      startHost: slot => openHost(slot, toSelf),
      alarm(atUs) {
        clearTimeout(alarm);
        if (atUs === null) return;
        const waitMs = Math.max(0, Math.ceil((atUs - clock.nowUs()) / 1000));
        alarm = setTimeout(() => toSelf({ kind: 'alarm' }), Math.min(waitMs, timerMsMax));
      },
    });
    const pipeline = startPipelineActor({
      store: store!,
      config,
      runIds: job.runIds,
      wake: () => tell('pipeline', { kind: 'expand' }),
      onRuns: runs => gauges.set({ runs }),
      admit: job.refusal,
      remembrance: idempotency,
    });
    // The vault is last: what the others have delivered is in its commit.
    loop.setActors({ job, pipeline, vault });
    link.tell('edge', vault.state);
    if (current > 1) link.tell('edge', { kind: 'begun' } satisfies Begun);
    toSelf({ kind: 'load' });
  }

  function openVaultActor(reader: Store): VaultActor {
    const source = (): KeySource => ({ file: config.vault.keyFile, variable: process.env[keyVariable] });
    try {
      settleKeys(reader, source());
    } catch (error) {
      // The directory of the key cannot be written: the vault stays shut, the service runs.
      notify({
        kind: 'log',
        level: 'error',
        message: 'a waiting key of the vault cannot be put in its place',
        fields: { error: (error as Error).message },
      });
    }
    return startVaultActor({
      reader,
      readKey: () => readUnlockKey(source()),
      random: randomBytes,
      onSealed: problems =>
        notify({ kind: 'log', level: 'error', message: 'the vault does not open', fields: { problems } }),
    });
  }

  function openHost({ name, threads, runtimes }: Slot, toSelf: (message: InnerMessage) => void): PluginHost {
    const host = startHost({
      name,
      threads,
      runtimes,
      clock,
      runDirectory: `${config.state.path}/run`,
      envPassthrough: config.service.pluginEnvPassthrough,
      log: (level, message, fields = {}) => notify({ kind: 'log', level, message, fields }),
      listener: {
        onOutcomes: (frameId, outcomes) => toSelf({ kind: 'outcomes', slot: name, frameId, outcomes }),
        onReturned: (frameId, tasks) => toSelf({ kind: 'returned', slot: name, frameId, tasks }),
        onLost: reason => toSelf({ kind: 'host_lost', slot: name, reason }),
        onThreadReplaced: () => toSelf({ kind: 'thread_replaced', slot: name }),
      },
    });
    hosts.add(host);
    void host.over.then(() => hosts.delete(host));
    return host;
  }

  setInterval(() => {
    const hasRoom = diskHasRoom();
    if (condition === 'resting' && stopper === null && hasRoom) begin();
    else if (condition === 'up' && hasRoom !== hadRoom)
      loop.deliver('job', { kind: 'admit', refusal: hasRoom ? null : 'disk_full' });
    hadRoom = hasRoom;
  }, diskCheckMs).unref();
  setInterval(() => {
    if (condition !== 'up') return;
    loop.deliver('job', { kind: 'prune' });
    loop.deliver('pipeline', { kind: 'prune' });
  }, pruneMs).unref();

  function diskHasRoom(): boolean {
    const { bavail, bsize, blocks } = statfsSync(config.state.path);
    return bavail * bsize >= Math.min(diskReserveBytes, blocks * bsize * diskReservePart);
  }

  begin();
  notify({ kind: 'ready' });
}

function openOrTell(path: string, notify: (notice: LedgerNotice) => void): Store | null {
  try {
    return openStore(path);
  } catch (error) {
    const exitStatus = error instanceof StoreHeld ? exitHeld : exitIo;
    notify({ kind: 'fatal', exitStatus, message: (error as Error).message });
    return null;
  }
}

run(await givenData<LedgerData>());
