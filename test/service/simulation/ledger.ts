// The ledger of one process of the service: the real actors and their real lifecycle over a store. After a kill, another
// one continues on the same store.

import type { HostSlot } from '../../../actors/job/dispatch/host-slot.ts';
import { OutstandingFrames } from '../../../actors/job/dispatch/outstanding-frames.ts';
import { Gauges } from '../../../actors/job/gauges.ts';
import { newestBlock } from '../../../actors/job/records/block.ts';
import { readPruneMark } from '../../../actors/job/records/journal.ts';
import type { Unlock } from '../../../actors/vault/unlock-key.ts';
import type { Config } from '../../../config/config.ts';
import type { PluginHost } from '../../../runtime/host/wire/plugin-host.ts';
import { makeBlockKeys } from '../../../runtime/ids.ts';
import { turnMsMax } from '../../../runtime/loop.ts';
import { SetAside } from '../../../runtime/store/set-aside.ts';
import type { Store } from '../../../runtime/store/store.ts';
import type { ReplyTo, TurnHandler } from '../../../runtime/turn.ts';
import { type ActorGeneration, ActorLifecycle, type LifecycleState } from '../../../service/ledger/actor-lifecycle.ts';
import { ledgerTurns, startLedgerActors } from '../../../service/ledger/ledger-actors.ts';
import { holds } from './broken.ts';
import type { Dice } from './dice.ts';
import { checkPaused } from './paused-jobs.ts';

/** `loadedBytesMax` 0: each turn reads its runs again. `partedBytesMin` 0: all gathered values stay values in parts. */
export type RunLimits = {
  readonly openRunsMax: number;
  readonly loadedBytesMax: number;
  readonly partedBytesMin: number;
  readonly evaluationsMax: number;
};

export function runLimitsOf(dice: Dice): RunLimits {
  return {
    openRunsMax: dice.pick([3, 30, 16_384]),
    loadedBytesMax: dice.pick([0, 2 ** 26]),
    partedBytesMin: dice.pick([0, 60, 2 ** 22]),
    evaluationsMax: dice.pick([1, 4]),
  };
}

export type Outside = {
  readonly store: Store;
  readonly nowUs: () => number;
  readonly dice: Dice;
  /** The dice for the durations of turns. */
  readonly time: Dice;
  readonly config: Config;
  readonly runs: RunLimits;
  readonly readUnlock: () => Unlock;
  readonly send: (actor: string, message: unknown) => void;
  readonly reply: (to: ReplyTo, value: unknown) => void;
  readonly startHost: (slot: HostSlot) => PluginHost;
  /** Every host of this process ends. */
  readonly endHosts: () => void;
  readonly hasRoom: () => boolean;
  readonly log: (message: string, fields: object) => void;
};

export class Ledger {
  readonly gauges = new Gauges();
  /** Whether a turn is due. */
  isDue = false;
  /** The alarms that were set last. */
  #alarms: { readonly [actor: string]: number } = {};
  /** Whether the process is gone: nothing that it still does has an effect outside. */
  isGone = false;
  /** The configurations that may be in force: the newest is last, and earlier ones count as long as messages wait. */
  readonly configs: Config[];
  readonly #outside: Outside;
  readonly #startedMs: number;
  /** With 2, the cancel of a run usually takes several turns. */
  readonly #cancelledPerTurnMax: number;
  readonly #outstanding = new OutstandingFrames();
  readonly #blockKeys;
  readonly #lifecycle: ActorLifecycle;
  /** Called when the hosts of a failed life have ended; null if there are none. */
  #onStopped: (() => void) | null = null;
  #ring = (_actor: string): void => {};
  /** Whether the request to stop has been handled: after it, no frame may leave. */
  isStopping = false;
  /** Whether, after the last turn, the actors have read back all open jobs. */
  isLoaded = false;

  constructor(outside: Outside) {
    this.#outside = outside;
    this.configs = [outside.config];
    const { store, dice, time, nowUs } = outside;
    this.#startedMs = Math.floor(nowUs() / 1000);
    this.#cancelledPerTurnMax = dice.pick([2, 256]);
    let workedMs = 0;
    const prunedMs = Math.floor(readPruneMark(store).upToUs / 1000);
    this.#blockKeys = makeBlockKeys(() => Math.floor(dice.next() * 2 ** 32), newestBlock(store), prunedMs);
    const setAside = new SetAside(record => outside.log('a record is set aside', record));
    this.#lifecycle = new ActorLifecycle({
      store,
      clock: { nowUs },
      stopwatch: () => {
        workedMs += time.chance(0.1) ? turnMsMax : 0;
        return workedMs;
      },
      schedule: () => {
        this.isDue = true;
      },
      send: (actor, message) => this.#out(() => outside.send(actor, message)),
      reply: (to, value) => this.#out(() => outside.reply(to, value)),
      flush() {},
      steadyMs: () => nowUs() / 1000,
      setAside,
      begin: life => this.#begin(life, setAside),
      stopHosts: () => this.#stopHosts(),
      hasRoom: outside.hasRoom,
      log: (_, message, fields) => this.#out(() => outside.log(message, fields)),
      onFatal() {},
    });
    this.#lifecycle.begin();
  }

  get condition(): LifecycleState {
    return this.#lifecycle.state;
  }

  turn(): void {
    this.isDue = false;
    this.#lifecycle.loop.turn();
    if (!this.isDue) this.configs.splice(0, this.configs.length - 1);
  }

  deliver(actor: string, message: object): void {
    const { kind } = message as { readonly kind: string };
    if (kind === 'reconfigure') this.configs.push((message as { config: Config }).config);
    this.#lifecycle.loop.deliver(actor, message);
  }

  /** A stop in good order begins. */
  stop(replyTo: ReplyTo): void {
    this.#lifecycle.stopping(replyTo);
    this.deliver('job', { kind: 'stop', replyTo, graceMs: 0 });
  }

  /** The alarm that was set last goes off. */
  ring(): void {
    const [first] = Object.entries(this.#alarms).sort(([, a], [, b]) => a - b);
    if (!first) return;
    this.#setAlarm(first[0], null);
    this.#ring(first[0]);
  }

  get alarmUs(): number | null {
    const times = Object.values(this.#alarms);
    return times.length === 0 ? null : Math.min(...times);
  }

  #setAlarm(actor: string, atUs: number | null): void {
    const { [actor]: _, ...others } = this.#alarms;
    this.#alarms = atUs === null ? others : { ...others, [actor]: atUs };
  }

  /** Called now and then: hosts that were told to end have ended; a ledger that waits for room on the disk begins if there is some. */
  tick(): void {
    const onStopped = this.#onStopped;
    this.#onStopped = null;
    if (onStopped) onStopped();
    else if (this.condition === 'resting' && this.#outside.hasRoom()) this.#lifecycle.begin();
  }

  #out(effect: () => void): void {
    if (!this.isGone) effect();
  }

  #begin({ number, tell }: ActorGeneration, setAside: SetAside): TurnHandler {
    const { store, nowUs, dice, runs, readUnlock, startHost, send } = this.#outside;
    this.#alarms = {};
    this.#ring = actor => tell(actor, { kind: 'alarm' });
    const actors = startLedgerActors({
      store,
      config: this.configs.at(-1)!,
      setAside,
      gauges: this.gauges,
      tell,
      job: {
        blockKeys: this.#blockKeys,
        random: () => dice.next(),
        outstanding: this.#outstanding,
        nowMs: Math.floor(nowUs() / 1000),
        cancelledPerTurnMax: this.#cancelledPerTurnMax,
        startHost: slot => guarded(startHost(slot), effect => this.#out(effect)),
        alarm: atUs => this.#out(() => this.#setAlarm('job', atUs)),
      },
      schedule: {
        startedMs: this.#startedMs,
        alarm: atMs => this.#out(() => this.#setAlarm('schedule', atMs === null ? null : atMs * 1000)),
      },
      pipeline: runs,
      vault: {
        readUnlock,
        random: count => dice.bytes(count),
        onOpened() {},
        exportDirectory: () => null,
        onBrokenTrail() {},
        onExportFailed() {},
      },
    });
    send('edge', actors.vault.state);
    if (number > 1) send('edge', { kind: 'actors_restarted' });
    const turns = ledgerTurns(actors);
    return {
      ...turns,
      end: turn => {
        turns.end!(turn);
        const { dispatcher } = actors.job;
        this.isStopping = dispatcher.pause?.isDisk === false;
        const { lanes, suspects, isLoaded } = actors.job.state;
        this.isLoaded = isLoaded;
        const waiting = [...lanes.values()].reduce((jobs, lane) => jobs + lane.queued, suspects.length);
        const counted = this.gauges.get('queued');
        holds(counted === waiting, () => `the ledger counts ${counted} queued jobs, and ${waiting} wait`);
        checkPaused([...lanes.values()], this.gauges.get('paused'));
      },
    };
  }

  /** A promise that resolves at a `tick`, so that the seed alone decides when. */
  #stopHosts(): Promise<void> {
    this.#outside.endHosts();
    this.#alarms = {};
    const stopped = {
      // biome-ignore lint/suspicious/noThenProperty: it stands for a promise.
      then: (next: () => void) => {
        this.#onStopped = () => {
          this.#outstanding.clear();
          next();
        };
      },
    };
    return stopped as unknown as Promise<void>;
  }
}

/** A host to which calls go through `out`, which drops those of a process that is gone. */
function guarded(host: PluginHost, out: (effect: () => void) => void): PluginHost {
  return {
    configure: (generation, plugins) => out(() => host.configure(generation, plugins)),
    submit: frame => out(() => host.submit(frame)),
    cancel: (frameId, task, reason) => out(() => host.cancel(frameId, task, reason)),
    stop: async graceMs => out(() => void host.stop(graceMs)),
  };
}
