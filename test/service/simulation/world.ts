// One world for the whole ledger: its real actors and turns over a store in memory or on disk, with simulated hosts,
// callers and clock. Every fault is a named probability of one seed. First faults strike; then none does, and everything must settle.
import { parseId } from '../../../runtime/ids.ts';
import type { WriteBatch } from '../../../runtime/store/batch.ts';
import { type Store, StoreFault, StoreFull } from '../../../runtime/store/store.ts';
import type { ReplyTo } from '../../../runtime/turn.ts';
import { Broken, holds } from './broken.ts';
import { Callers } from './callers.ts';
import { CancelModel } from './cancel-model.ts';
import { Commits } from './commits.ts';
import { Dice } from './dice.ts';
import { openDisk, type WorldDisk } from './disk.ts';
import { Faults, type Scenario } from './faults.ts';
import { frameHolds, hostsHold } from './handing-out.ts';
import { Hosts, nameOf } from './hosts.ts';
import { InForce } from './in-force.ts';
import { Ledger, type RunLimits, runLimitsOf } from './ledger.ts';
import { Looks } from './looks.ts';
import { Many } from './many.ts';
import { type Compared, compare } from './model.ts';
import { Operators } from './operators.ts';
import { deadlinesHold, isLimited } from './phases.ts';
import { PluginCode } from './plugin-code.ts';
import { Poison } from './poison.ts';
import { ownCopy } from './remembered.ts';
import { Reruns } from './reruns.ts';
import { isSettled } from './settled.ts';
import { auditRetentionUsOf, type Generation, Setups, without, withoutSchedules } from './setup.ts';
import { Stopping } from './stopping.ts';
import { Times } from './times.ts';
import { VaultModel } from './vault-model.ts';

const hourUs = 3_600_000_000;
/** The most steps until a world without faults has settled. */
const calmStepsMax = 200_000;
/** A paused run in a phase sets alarms for as long as the pause lasts, so pauses end after this many alarms, even if more are due. */
const pausedAlarmsMax = 2_000;
/** While this many jobs are unsettled, callers submit nothing. */
const unsettledMax = 20;

class Killed extends Error {}

export class World {
  turns = 0;
  restarts = 0;
  readonly faults: Faults;
  readonly #scenario: Scenario;
  readonly #dice: Dice;
  readonly #store: Store;
  readonly #disk: WorldDisk;
  readonly #commits: Commits;
  readonly #poison: Poison;
  readonly #hosts: Hosts;
  readonly #callers: Callers;
  readonly #operators: Operators;
  readonly #cancels: CancelModel;
  readonly #reruns: Reruns;
  readonly #many: Many;
  readonly #times: Times;
  readonly #vault: VaultModel;
  readonly #code: PluginCode;
  readonly #runs: RunLimits;
  readonly #inForce = new InForce();
  #ledger!: Ledger;
  #setup: Generation;
  readonly #setups: Setups;
  #nowUs = 1_700_000_000_000_000;
  #isDiskLow = false;
  #isDiskFull = false;
  #stop = new Stopping();
  /** How many effects of the turn still get out before the process is killed. */
  #effectsLeft = Number.POSITIVE_INFINITY;

  constructor(scenario: Scenario) {
    const { seed } = scenario;
    this.#scenario = scenario;
    this.#dice = new Dice(seed, 'order');
    this.faults = new Faults(seed, scenario.without);
    this.#disk = openDisk(scenario);
    const memory = this.#disk.store;
    this.#commits = new Commits(memory, seed, {
      has: (table, key) => this.#poison.has(table, key),
      isDamaged: root => this.#poison.roots.has(root),
    });
    this.#runs = runLimitsOf(new Dice(seed, 'open runs'));
    this.#poison = new Poison(memory, this.#commits, this.#runs);
    this.#store = this.#poison.over({ ...memory, commit: batch => this.#commit(memory, ownCopy(batch)) });
    this.#vault = new VaultModel(memory, new Dice(seed, 'vault'));
    this.#code = new PluginCode(seed, this.faults);
    this.#hosts = new Hosts(
      new Dice(seed, 'hosts'),
      this.faults,
      this.#code,
      id => this.#commits.againOf(id),
      held => {
        holds(this.#stop.state !== 'hosts ended', () => 'a frame leaves for a host that was told to stop');
        frameHolds(held, this.#surroundings);
        this.#operators.frameHolds(held, this.#hosts.held, this.#nowUs);
        this.#times.frameHolds(held, this.#nowUs);
      },
    );
    const isDamaged = (id: string) => this.#poison.roots.has(this.#commits.rootOf(parseId(id)!));
    this.#cancels = new CancelModel(this.#commits, isDamaged, job => isLimited(this.#commits, this.#inForce, job));
    this.#reruns = new Reruns(memory, this.#commits, new Dice(seed, 'reruns'), isDamaged);
    this.#many = new Many(this.#store, this.#commits, this.#cancels, new Dice(seed, 'many'), isDamaged);
    this.#times = new Times(memory, this.#commits, new Dice(seed, 'times'));
    this.#cancels.expired = job => this.#times.hasExpired(job);
    const looks = new Looks(memory, new Dice(seed, 'looks'), this.#commits, this.#poison);
    const asked = [this.#cancels, this.#reruns, this.#times, looks] as const;
    this.#callers = new Callers(memory, seed, this.#vault, { find: id => this.#commits.find(id), isDamaged }, ...asked);
    this.#operators = new Operators(memory, new Dice(seed, 'operators'), this.#cancels, isDamaged);
    this.#setups = new Setups(seed);
    this.#setup = this.#setups.of(0);
    this.#inForce.begin(this.#setup, 0);
    this.#start();
  }

  get #surroundings() {
    const [commits, cancels, hosts, vault] = [this.#commits, this.#cancels, this.#hosts, this.#vault];
    return { store: this.#store, poison: this.#poison, commits, cancels, hosts, vault, configs: this.#ledger.configs };
  }

  close(): void {
    this.#disk.close();
  }

  run(): Compared & { readonly acted: number } {
    while (this.turns < this.#scenario.turns) this.#step();
    this.faults.isCalm = true;
    this.#settle();
    isSettled({ ...this.#surroundings, callers: this.#callers });
    this.#cancels.ends(this.#store);
    this.#reruns.ends();
    return { ...this.#compare(), acted: this.#many.ends() };
  }

  #start(): void {
    this.#effectsLeft = Number.POSITIVE_INFINITY;
    this.#isDiskLow = false;
    this.#stop = new Stopping();
    if (this.faults.strikes('clockBack')) this.#nowUs -= hourUs;
    if (this.faults.strikes('startedLate')) this.#nowUs += this.#dice.pick([1, 48]) * hourUs;
    this.#inForce.settle(this.#commits.count);
    this.#vault.isLocked = this.faults.strikes('sealed');
    this.#ledger = new Ledger({
      store: this.#store,
      nowUs: () => ++this.#nowUs,
      dice: new Dice(this.#scenario.seed, `process ${this.restarts}`),
      time: new Dice(this.#scenario.seed, `time ${this.restarts}`),
      config: this.#setup.config,
      runs: this.#runs,
      readUnlock: this.#vault.unlock,
      send: (actor, message) => this.#effect(() => this.#sent(actor, message)),
      reply: (to, value) => this.#effect(() => this.#answered(to, value)),
      startHost: slot => this.#hosts.start(slot),
      endHosts: () => this.#endHosts(),
      hasRoom: () => !this.#isDiskFull && !this.faults.strikes('diskLow'),
      log: (message, fields) => this.#poison.logged(message, fields, this.faults),
    });
  }

  #answered(to: ReplyTo, value: unknown): void {
    if ((value as { readonly kind: string }).kind === 'stopped') this.#stop.state = 'answered';
    if (this.#times.answered(to) || this.#many.answered(to, value) || this.#operators.answered(to, value)) return;
    this.#callers.answered(to, value, this.#ledger.condition === 'over');
  }

  /** The process ends at this moment, with its hosts; another starts from what is on disk. */
  #restart(): void {
    this.restarts++;
    this.#ledger.isGone = true;
    this.#endHosts();
    this.#callers.drop();
    this.#operators.drop();
    this.#many.drop();
    this.#disk.restart(this.#stop.state === 'answered');
    this.#vault.reread();
    if (this.#poison.isWanted && this.faults.tries('recordPoisoned')) this.#poison.strike(this.#dice);
    this.#start();
  }

  #endHosts(): void {
    for (const task of this.#commits.alone()) this.#hosts.chargeable.add(nameOf(task));
    this.#hosts.end();
  }

  /** Carries out an effect of a turn, unless the process is killed before it. */
  #effect(effect: () => void): void {
    if (this.#effectsLeft-- > 0) effect();
    else this.#ledger.isGone = true;
  }

  #sent(actor: string, message: unknown): void {
    this.#callers.told(actor, message);
    if ((message as { kind: string }).kind !== 'actors_restarted') return;
    // The main thread asks again for each job that a caller waits for.
    for (const id of this.#callers.waiting) this.#ledger.deliver('job', { kind: 'await_job', id: parseId(id)! });
  }

  #commit(memory: Store, batch: WriteBatch): void {
    const { faults } = this;
    if (faults.strikes('killedBeforeCommit')) {
      this.#ledger.isGone = true;
      throw new Killed();
    }
    if (faults.strikes('diskStaysFull')) this.#isDiskFull = true;
    if (this.#isDiskFull || faults.strikes('diskFull')) throw new StoreFull('no space left on the device');
    if (faults.strikes('diskFault')) {
      if (this.#dice.chance(0.5)) this.#write(memory, batch);
      throw new StoreFault('input/output error');
    }
    this.#write(memory, batch);
    if (faults.strikes('killedAfterCommit')) this.#ledger.isGone = true;
    if (faults.strikes('killedAmidEffects')) this.#effectsLeft = this.#dice.below(4);
  }

  #write(memory: Store, batch: WriteBatch): void {
    this.#commits.before(batch);
    this.#operators.committing(batch);
    this.#times.committing(batch, this.#nowUs);
    if (this.#vault.prunes(batch, this.#nowUs - auditRetentionUsOf(this.#setup))) this.faults.note('auditPruned');
    const { tables, keys } = batch;
    for (let place = 0; place < tables.length; place++) this.#poison.written(tables[place]!, keys[place]!);
    memory.commit(batch);
    this.#commits.after(batch);
  }

  #step(): void {
    const dice = this.#dice;
    if (this.faults.strikes('killedBetweenTurns')) this.#restart();
    if (this.#ledger.condition === 'up' && this.faults.strikes('stopped'))
      this.#stop.begin(this.#ledger, this.#callers);
    for (let inputs = dice.below(4); inputs > 0; inputs--) this.#input();
    if (dice.chance(0.1)) this.#isDiskFull = false;
    this.#disk.step();
    if (this.#stop.state === 'asked' && dice.chance(0.2)) this.#stop.endHosts(this.#ledger, this.#hosts);
    if (this.#ledger.isDue || dice.chance(0.1)) this.#turn();
    else if (this.#hosts.held.length === 0 || this.#ledger.condition !== 'up') this.#wait();
  }

  /** Delivers messages of callers and operators, and sometimes moves the clock. */
  #input(): void {
    const [ledger, dice] = [this.#ledger, this.#dice];
    const cancels = this.faults.strikes('cancelled') ? this.#callers.cancel() : [];
    const reruns = this.faults.strikes('ranAgain') ? this.#callers.rerun() : [];
    const isFree = this.#unsettled < unsettledMax;
    const batches = isFree && this.faults.strikes('batched') ? this.#callers.batch(this.#nowUs) : [];
    for (const { actor, message } of [...cancels, ...reruns, ...batches]) ledger.deliver(actor, message);
    if (this.faults.strikes('rescheduled')) for (const message of this.#times.next()) ledger.deliver('job', message);
    if (this.faults.strikes('actedOnMany')) ledger.deliver('job', this.#many.next());
    const kind = dice.below(10);
    if (kind < 4 && isFree) {
      const { actor, message } = this.faults.strikes('callThrows')
        ? this.#callers.poison()
        : this.#callers.next(this.#nowUs);
      ledger.deliver(actor, message);
    } else if (kind < 8) this.#report();
    else if (kind < 9 && dice.chance(0.3)) this.#prune();
    else if (this.faults.strikes('reloaded')) this.#reload();
    else if (this.faults.strikes('diskLow')) this.#admit(!this.#isDiskLow);
    else if (this.faults.strikes('clockAhead') && !ledger.isDue) this.#nowUs += dice.pick([1, 2, 48]) * hourUs;
    if (this.faults.strikes('paused')) ledger.deliver('job', this.#operators.next(this.#nowUs));
    if (ledger.alarmUs !== null && (ledger.alarmUs <= this.#nowUs || this.faults.strikes('clockSlow'))) ledger.ring();
  }

  #report(): void {
    const message = this.#hosts.report(this.#nowUs);
    if (message) this.#ledger.deliver('job', message);
  }

  #prune(): void {
    if (this.#ledger.condition !== 'up') return;
    const actors = ['job', 'pipeline', ...(this.#setup.config.schedules.length > 0 ? ['schedule'] : [])];
    for (const actor of actors) this.#ledger.deliver(actor, { kind: 'prune' });
    if (!this.faults.tries('auditPruned')) return;
    // Time passes, so that some records of the trail are past their retention.
    this.#nowUs += 2 * hourUs;
    const beforeUs = this.#nowUs - auditRetentionUsOf(this.#setup);
    this.#ledger.deliver('vault', { kind: 'prune_audit', beforeUs });
  }

  #admit(isLow: boolean): void {
    this.#isDiskLow = isLow;
    if (this.#ledger.condition === 'up')
      this.#ledger.deliver('job', { kind: 'admit', refusal: isLow ? 'disk_full' : null });
  }

  #reload(): void {
    const [dice, whole] = [this.#dice, this.#setups.newest];
    if (dice.chance(0.3)) this.#apply(this.#setups.next());
    else this.#apply(dice.chance(0.5) ? whole : without(whole, dice));
  }

  #apply(setup: Generation): void {
    this.#setup = setup;
    this.#vault.isLocked = false;
    this.#inForce.begin(setup, this.#commits.count + 1);
    this.#ledger.deliver('ledger', { kind: 'reconfigure', config: setup.config });
  }

  #wait(): void {
    const { alarmUs, condition } = this.#ledger;
    if (condition === 'over') this.#restart();
    else if (condition !== 'up') {
      this.#ledger.tick();
      this.#restartIfStopped();
    } else if (this.#stop.state === 'asked') this.#stop.endHosts(this.#ledger, this.#hosts);
    else if (alarmUs !== null) {
      this.#nowUs = Math.max(this.#nowUs, alarmUs);
      this.#ledger.ring();
    } else this.#nowUs += 1_000;
  }

  #turn(): void {
    const ledger = this.#ledger;
    this.turns++;
    this.#nowUs += this.#dice.pick([10, 1_000, 500_000]);
    ledger.turn();
    if (!ledger.isDue) this.#inForce.settle(this.#commits.count);
    if (Broken.first) throw Broken.first;
    if (ledger.isGone) {
      this.#restart();
      return;
    }
    this.#effectsLeft = Number.POSITIVE_INFINITY;
    if (this.#restartIfStopped() || ledger.condition !== 'up') return;
    this.#vault.settle();
    // If a turn is due, open jobs may not all have been read back after a start.
    if (!ledger.isDue) this.#commits.compareGauges(ledger.gauges);
    if (!ledger.isDue) deadlinesHold(this.#store, ledger.alarmUs, this.#commits, this.#poison);
    if (this.#dice.chance(0.1) && !ledger.isDue) hostsHold(this.#surroundings);
    if (this.#dice.chance(0.002)) this.#commits.all();
  }

  #restartIfStopped(): boolean {
    if (this.#stop.state !== 'answered') return false;
    const [running] = this.#commits.out();
    // The ends of a failed last turn are not written. A stop may come before all jobs of the life before have been read back.
    holds(
      running === undefined || this.#ledger.condition !== 'up' || !this.#ledger.isLoaded,
      () => `the service has stopped in good order, and ${running} is said to be running`,
    );
    this.#restart();
    return true;
  }

  get #unsettled(): number {
    const { gauges } = this.#ledger;
    return (['queued', 'retrying', 'scheduled', 'running', 'runs'] as const).reduce((n, one) => n + gauges.get(one), 0);
  }

  /** Ends all faults, and runs the world until everything has settled. */
  #settle(): void {
    this.#isDiskFull = false;
    if (this.#stop.state !== 'no') this.#restart();
    this.#apply(withoutSchedules(this.#setups.newest));
    this.#admit(false);
    for (let steps = 0, alarms = 0; ; steps++) {
      holds(steps < calmStepsMax, () => `nothing fails any more, and ${this.#unsettled} jobs and runs do not settle`);
      const { alarmUs, condition, isDue } = this.#ledger;
      if (isDue) this.#turn();
      else if (condition !== 'up') {
        this.#wait();
        this.#admit(false);
      } else if (this.#hosts.held.length > 0) this.#report();
      else {
        const waiting = this.#poison.roots.size > 0 ? 0 : this.#ledger.gauges.get('queued');
        const isQuiet = alarmUs === null || alarms > pausedAlarmsMax;
        const paused = isQuiet && this.#operators.quiet(this.#nowUs, alarmUs !== null, waiting);
        if (paused) this.#ledger.deliver('job', this.#operators.resume(paused));
        else if (alarmUs !== null) {
          alarms++;
          this.#wait();
        } else if (this.#many.isOpen) this.#ledger.deliver('job', this.#many.step());
        else return;
      }
    }
  }

  #compare(): Compared {
    return compare({
      jobs: [...this.#commits.jobs()],
      fates: this.#callers.fates,
      chargeable: this.#hosts.chargeable,
      untakeable: this.#hosts.untakeable,
      damaged: this.#poison.roots,
      cancels: this.#cancels,
      times: this.#times,
      againOf: id => this.#commits.againOf(id),
      prunedAt: id => this.#commits.prunedAt(id),
      code: this.#code,
      jobsPerRootMax: this.#setups.of(0).config.service.jobsPerRootMax,
      attemptsOf: job => this.#setups.attemptsOf(job),
      pipelinesAt: commit => this.#inForce.at(commit),
    });
  }
}
