// The ledger thread. It opens the store, and runs the actors that write it, in turns. Its messages to the main thread travel as packets.

import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';
import type { InnerMessage } from '../../actors/job/actor.ts';
import type { HostSlot } from '../../actors/job/dispatch/host-slot.ts';
import { OutstandingFrames } from '../../actors/job/dispatch/outstanding-frames.ts';
import { endedHostsMax, isolationMs } from '../../actors/job/dispatch/quarantine.ts';
import { Gauges } from '../../actors/job/gauges.ts';
import type { ActorsRestarted } from '../../actors/job/protocol.ts';
import { newestBlock } from '../../actors/job/records/block.ts';
import { readPruneMark } from '../../actors/job/records/journal.ts';
import type { LedgerPulse } from '../../actors/job/reports/report-protocol.ts';
import { settleAbandoned } from '../../actors/vault/abandoned.ts';
import type { PruneAudit } from '../../actors/vault/protocol.ts';
import {
  damageRemedy,
  type KeySource,
  looseModeOf,
  readUnlock,
  remedyOf,
  settleKeys,
} from '../../actors/vault/unlock-key.ts';
import type { Config } from '../../config/config.ts';
import { systemClock } from '../../runtime/clock.ts';
import { archiveOf, newestArchived } from '../../runtime/commit-log/archive.ts';
import { hasTurnAfter } from '../../runtime/commit-log/log-reader.ts';
import { Host } from '../../runtime/host/client/host.ts';
import type { HostLogLevel, PluginHost } from '../../runtime/host/wire/plugin-host.ts';
import { makeBlockKeys } from '../../runtime/ids.ts';
import { type Link, openLink } from '../../runtime/link.ts';
import { LoopDelay } from '../../runtime/loop-delay.ts';
import { givenData } from '../../runtime/preloaded-thread.ts';
import { sandboxFault } from '../../runtime/processes/sandbox.ts';
import { isStoreFault } from '../../runtime/store/fault.ts';
import { type LedgerStore, openStore } from '../../runtime/store/ledger-store.ts';
import { StoreHeld } from '../../runtime/store/owner.ts';
import { hasRoom } from '../../runtime/store/room.ts';
import { SetAside } from '../../runtime/store/set-aside.ts';
import { type Store, type StoreFault, StoreFull } from '../../runtime/store/store.ts';
import { ensureStoreId, renewStoreId } from '../../runtime/store/store-id.ts';
import type { ReplyTo, TurnHandler } from '../../runtime/turn.ts';
import { newestTurn } from '../backup/manifest.ts';
import type { ThreadReport } from '../thread-report.ts';
import { type ActorGeneration, ActorLifecycle } from './actor-lifecycle.ts';
import { CommitMeter } from './commit-meter.ts';
import { type LedgerActorsOptions, ledgerTurns, type Reconfigure, startLedgerActors } from './ledger-actors.ts';
import { chunkOutcomes } from './outcome-chunks.ts';

/** The data that the thread gets on startup. */
export type LedgerData = {
  readonly config: Config;
  readonly gauges: SharedArrayBuffer;
  readonly commits: SharedArrayBuffer;
  readonly loopDelay: SharedArrayBuffer;
  /** The value of HEADGATE_VAULT_KEY on startup. */
  readonly vaultKey?: string | undefined;
  /** The umask of plugin processes; absent: the umask of the service. */
  readonly umask?: number | undefined;
};

/** Sent to the ledger after its actors have stopped: the thread closes the store, and answers. */
export type CloseLedger = { readonly kind: 'close'; readonly replyTo: ReplyTo };

/** A stop waits at most this long for the archiving of the commit log. The next start makes the missing copies. */
const archiveMsMax = 5_000;

type Log = (level: HostLogLevel, message: string, fields: object) => void;

/** Exit statuses of the service (docs/contract.md#exit-statuses). */
const exitHeld = 75;
const exitIo = 74;

/** An alarm is at most this late if the clock was set forward. */
const alarmCheckMs = 1_000;
const diskCheckMs = 1_000;
const pruneMs = 2_000;
const reportMs = 1_000;

function run({ config: first, gauges: shared, commits, loopDelay, umask, vaultKey }: LedgerData): void {
  new LoopDelay(loopDelay).measure();
  const gauges = new Gauges(shared);
  const meter = new CommitMeter(commits);
  const clock = systemClock();
  /** The hosts that have not ended, including hosts that are being stopped. */
  const hosts = new Map<PluginHost, Pick<HostSlot, 'name' | 'threads'>>();
  /** How often each host was lost, by the name of the host. */
  const restarts = new Map<string, number>();
  const outstanding = new OutstandingFrames();
  let config = first;
  /** The start of this thread. If an occurrence of a schedule was to fire before this time and did not, it counts as missed. */
  const startedMs = Math.floor(clock.nowUs() / 1000);
  const alarms: { job?: NodeJS.Timeout; schedule?: NodeJS.Timeout } = {};
  /** Whether the disk has room as far as the actors know. A new generation of actors assumes that the disk has room. */
  let hadRoom = true;

  const link: Link = openLink({
    port: parentPort!,
    onMessage(actor, message) {
      const inner = message as InnerMessage | Reconfigure | CloseLedger;
      if (inner.kind === 'close') {
        void close(inner.replyTo);
        return;
      }
      if (inner.kind === 'reconfigure') {
        config = inner.config;
        archive();
      } else if (inner.kind === 'stop') lifecycle.stopping(inner.replyTo);
      lifecycle.loop.deliver(actor, message);
    },
  });
  const notify = (report: ThreadReport): void => {
    link.tell('supervisor', report);
    link.flush();
  };
  const log: Log = (level, message, fields) => notify({ kind: 'log', level, message, fields });
  const opened = openOrTell(config, notify, fault => {
    // Later, because the fault may arise within a turn, or before `lifecycle` exists.
    setImmediate(() => lifecycle.failStore(fault));
  });
  if (!opened) return;
  const storeId = ownStoreId(opened, config.backups, log);
  /** With `backups.log`, copies segments of the commit log, from now on, to the archive that the configuration in force names. */
  function archive(): void {
    const { log: isArchived, into } = config.backups;
    if (isArchived) opened!.archiveTo(archiveOf(into, storeId), (message, fields) => log('error', message, fields));
  }
  archive();
  let isClosed = false;
  /** Closes the store with a checkpoint, so the next start has nothing to recover. */
  async function close(asked: ReplyTo): Promise<void> {
    isClosed = true;
    await Promise.race([opened!.archived(), pause(archiveMsMax, undefined, { ref: false })]);
    try {
      opened!.close();
    } catch (error) {
      log('error', 'the ledger was not closed: the next start recovers it', { error: (error as Error).message });
    }
    link.reply(asked, { kind: 'closed' });
    link.flush();
  }
  const store = meter.over(opened, () => gauges.get('changes'));
  const prunedMs = Math.floor(readPruneMark(store).upToUs / 1000);
  const blockKeys = makeBlockKeys(() => randomInt(2 ** 32), newestBlock(store), prunedMs);
  const setAside = new SetAside(record => log('error', 'a record cannot be used: it is set aside', record));

  const lifecycle = new ActorLifecycle({
    store,
    clock,
    stopwatch: () => performance.now(),
    schedule: turn =>
      setImmediate(() => {
        if (isClosed) return;
        turn();
        link.flushDue();
      }),
    send(actor, message) {
      if (actor === 'hub') link.tellSoon(actor, message as object);
      else link.tell(actor, message as object);
    },
    reply: link.reply,
    flush: link.flush,
    steadyMs: () => performance.now(),
    begin,
    setAside,
    async stopHosts() {
      clearTimeout(alarms.job);
      clearTimeout(alarms.schedule);
      await Promise.all([...hosts.keys()].map(host => host.stop(0)));
      outstanding.clear();
    },
    hasRoom: () => hasRoom(config.state.path, config.state.log.segmentBytes),
    log,
    onFatal: (exitStatus, message) => notify({ kind: 'fatal', exitStatus, message }),
  });

  function begin({ number, tell }: ActorGeneration): TurnHandler {
    hadRoom = true;
    const actors = startLedgerActors({
      store,
      config,
      setAside,
      gauges,
      tell,
      vault: vaultOptions(store),
      job: {
        blockKeys,
        random: Math.random,
        nowMs: Math.floor(clock.nowUs() / 1000),
        trySandbox: sandboxFault,
        outstanding,
        startHost: openHost,
        onIsolated: plugin =>
          log(
            'warn',
            `jobs of a plugin ended their host ${endedHostsMax} times; the plugin is isolated: it runs one job at a time until none of them has ended a host for ${isolationMs / 1000} s`,
            { plugin },
          ),
        alarm: atUs => setAlarm('job', atUs, tell),
      },
      schedule: { startedMs, alarm: atMs => setAlarm('schedule', atMs === null ? null : atMs * 1000, tell) },
    });
    link.tell('edge', actors.vault.state);
    if (number > 1) link.tell('edge', { kind: 'actors_restarted' } satisfies ActorsRestarted);
    return ledgerTurns(actors);
  }

  /** A timer does not notice that the clock was set forward, or that the machine was suspended. So a longer wait is a series of timers. */
  function setAlarm(actor: keyof typeof alarms, atUs: number | null, tell: ActorGeneration['tell']): void {
    clearTimeout(alarms[actor]);
    if (atUs === null) return;
    const waitMs = Math.max(0, Math.ceil((atUs - clock.nowUs()) / 1000));
    const ring = () => {
      if (clock.nowUs() >= atUs) tell(actor, { kind: 'alarm' });
      else setAlarm(actor, atUs, tell);
    };
    alarms[actor] = setTimeout(ring, Math.min(waitMs, alarmCheckMs));
  }

  function vaultOptions(reader: Store): LedgerActorsOptions['vault'] {
    const source = (): KeySource => ({ file: config.vault.keyFile, variable: vaultKey });
    let wasSealed = false;
    /** Calls `settling`. Rethrows failures of the store; logs all others, for example that the directory of the key cannot be written. */
    function settle(problem: string, settling: () => void): void {
      try {
        settling();
      } catch (error) {
        if (isStoreFault(error) || error instanceof StoreFull) throw error;
        log('error', problem, { error: (error as Error).message });
      }
    }
    settle('the abandoned vault cannot be set aside completely', () => settleAbandoned(reader));
    return {
      readUnlock() {
        settle('cannot activate the pending vault key (vault.key.next)', () => settleKeys(reader, source()));
        const mode = looseModeOf(source());
        if (mode !== null) {
          const message = 'users other than the owner can use the unlock key of the vault: set its mode to 0600';
          log('warn', message, { file: source().file, mode });
        }
        return readUnlock(source());
      },
      random: randomBytes,
      exportDirectory: () => config.vault.auditExport,
      onExportFailed: problem => log('error', 'the audit trail cannot be exported, so it is not pruned', { problem }),
      onBrokenTrail: problem => log('error', 'the audit trail is broken, so it is not pruned', { problem }),
      onOpened(opening) {
        if (opening.kind === 'sealed') {
          const message = 'the vault does not open: no job is dispatched';
          log('error', message, { problems: opening.problems, remedy: remedyOf(source()) });
        } else if (opening.kind === 'open' && opening.problems.length > 0) {
          const message = 'records of the vault cannot be decrypted: jobs that need them wait';
          log('error', message, { problems: opening.problems, remedy: damageRemedy });
        }
        if (opening.kind === 'open' && wasSealed) log('info', 'the vault is open: jobs continue', {});
        wasSealed = opening.kind === 'sealed';
      },
    };
  }

  /** Starts a host. A host may outlive the generation of actors that started it; its messages go to the current generation. */
  function openHost({ name, threads, runtimes, isConcurrent }: HostSlot): PluginHost {
    const toJobs = (message: InnerMessage): void => lifecycle.loop.deliver('job', message);
    const host = new Host({
      name,
      threads,
      runtimes,
      isConcurrent,
      clock,
      runDirectory: `${config.state.path}/run`,
      envPassthrough: config.service.pluginEnvPassthrough,
      umask,
      log: (level, message, fields = {}) => log(level, message, fields),
      listener: {
        onOutcomes(frameId, outcomes) {
          for (const piece of chunkOutcomes(outcomes))
            toJobs({ kind: 'outcomes', slot: name, frameId, outcomes: piece });
        },
        onReturned: (frameId, tasks, reason) => toJobs({ kind: 'returned', slot: name, frameId, tasks, reason }),
        onLost(reason) {
          restarts.set(name, (restarts.get(name) ?? 0) + 1);
          toJobs({ kind: 'host_lost', slot: name, reason, sentUpTo: outstanding.newestId });
        },
        onCancelling: (frameId, task) => toJobs({ kind: 'cancelling', slot: name, frameId, task }),
        onThreadReplaced: () => toJobs({ kind: 'thread_replaced', slot: name }),
      },
    });
    hosts.set(host, { name, threads });
    void host.over.then(() => hosts.delete(host));
    return host;
  }

  setInterval(() => {
    const areActorsUp = lifecycle.state === 'up';
    const pulse = { kind: 'ledger_pulse', areActorsUp, workers: workersOf(hosts.values()) } as const;
    const { archiveFailure } = opened;
    link.tell('edge', { ...pulse, restarts: [...restarts], archiveFailure } satisfies LedgerPulse);
    link.flush();
    if (areActorsUp) lifecycle.loop.deliver('job', { kind: 'report' });
  }, reportMs).unref();
  setInterval(() => {
    const hasRoomNow = hasRoom(config.state.path, config.state.log.segmentBytes);
    if (lifecycle.state === 'resting' && hasRoomNow) lifecycle.begin();
    else if (lifecycle.state === 'up' && hasRoomNow !== hadRoom)
      lifecycle.loop.deliver('job', { kind: 'admit', refusal: hasRoomNow ? null : 'disk_full' });
    hadRoom = hasRoomNow;
  }, diskCheckMs).unref();
  setInterval(() => {
    if (lifecycle.state !== 'up') return;
    lifecycle.loop.deliver('job', { kind: 'prune' });
    lifecycle.loop.deliver('pipeline', { kind: 'prune' });
    lifecycle.loop.deliver('schedule', { kind: 'prune' });
    const { auditRetentionMs } = config.vault;
    const beforeUs = clock.nowUs() - auditRetentionMs * 1000;
    if (auditRetentionMs > 0) lifecycle.loop.deliver('vault', { kind: 'prune_audit', beforeUs } satisfies PruneAudit);
  }, pruneMs).unref();

  lifecycle.begin();
  if (lifecycle.state === 'up') notify({ kind: 'ready' });
}

/** How many threads or processes the hosts have, by kind: a kind may have several hosts, such as `programs-1` and `programs-2`. */
function workersOf(hosts: Iterable<Pick<HostSlot, 'name' | 'threads'>>): [kind: string, count: number][] {
  const workers = new Map<string, number>();
  for (const { name, threads } of hosts) {
    const kind = name.replace(/-\d+$/, '');
    workers.set(kind, (workers.get(kind) ?? 0) + threads);
  }
  return [...workers];
}

/**
 * The id of the store. If its archive or a backup has a later turn, or the archive has the segment that the store appends to, the state is an older
 * copy. It then gets a new id, so one archive never has the turns of two histories.
 */
function ownStoreId(store: LedgerStore, { log: isArchived, into }: Config['backups'], log: Log): string {
  const id = ensureStoreId(store);
  if (!isArchived) return id;
  const archive = archiveOf(into, id);
  const { applied, segment } = store;
  try {
    const isOlder =
      newestArchived(archive) >= segment || newestTurn(into, id) > applied || hasTurnAfter(archive, applied);
    if (!isOlder) return id;
  } catch (error) {
    log('error', 'the backups and the archived commit log cannot be read', { into, error: (error as Error).message });
    return id;
  }
  log('warn', 'the state is an older copy of one whose commit log is archived: it gets a new id', { archive });
  return renewStoreId(store);
}

function openOrTell(
  { state: { path, log }, backups }: Config,
  notify: (report: ThreadReport) => void,
  onFault: (fault: StoreFault) => void,
): LedgerStore | null {
  try {
    return openStore(path, { log, keeps: backups.log, onFault });
  } catch (error) {
    const exitStatus = error instanceof StoreHeld ? exitHeld : exitIo;
    notify({ kind: 'fatal', exitStatus, message: (error as Error).message });
    return null;
  }
}

run(await givenData<LedgerData>());
