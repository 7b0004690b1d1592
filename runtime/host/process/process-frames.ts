// Frames of process plugins: so many at once, the others wait in order.
import { steadyUs } from '../../clock.ts';
import type { ProgramMarks } from '../../processes/program-marks.ts';
import type { HostedPlugin } from '../wire/port.ts';
import { describe, type Settled, settleFailure } from '../wire/response.ts';
import { PayloadChecks } from '../wire/schema.ts';
import { runAttempt } from './attempt.ts';
import { Conversation } from './conversation.ts';
import { Fleet } from './fleet.ts';
import { Flight } from './frame-run.ts';
import { Programs } from './program.ts';
import type { Reports } from './reports.ts';

export class ProcessFrames {
  readonly #slots: number;
  readonly #programs: Programs;
  readonly #reports: Reports;
  readonly #flights = new Set<Flight>();
  readonly #fleets = new Map<HostedPlugin, Fleet>();
  /** The plugins whose processes may stay. */
  #current: readonly HostedPlugin[] = [];
  readonly #checks = new PayloadChecks();
  #running = 0;

  /** `home`: for what sandboxed plugins write. */
  constructor(slots: number, marks: ProgramMarks, home: string, reports: Reports) {
    this.#slots = slots;
    this.#programs = new Programs(marks, home);
    this.#reports = reports;
  }

  /** Whether nothing runs, nor stays for more. */
  get idle(): boolean {
    return this.#flights.size === 0 && this.#programs.count === 0;
  }

  submit(bytes: Buffer, plugin: HostedPlugin): void {
    const flight = new Flight(bytes, plugin, this.#reports);
    this.#flights.add(flight);
    this.#launch();
    if (!flight.hasBegun) flight.wait();
  }

  /** Gives back what has not begun, and lets go the processes that stay. */
  returnUnstarted(): void {
    this.retire([]);
    for (const flight of this.#flights) {
      flight.takeBack();
      if (!flight.hasBegun) this.#flights.delete(flight);
    }
  }

  /** Ends processes that stay for plugins other than these. */
  retire(current: readonly HostedPlugin[]): void {
    this.#current = current;
    for (const [plugin, fleet] of this.#fleets) {
      if (current.includes(plugin)) continue;
      this.#fleets.delete(plugin);
      fleet.retire();
    }
  }

  /** Kills whatever runs. */
  kill(): void {
    this.#programs.killAll();
  }

  #launch(): void {
    for (const flight of this.#flights) {
      if (this.#running >= this.#slots) return;
      if (!flight.hasBegun) void this.#run(flight);
    }
  }

  async #run(flight: Flight): Promise<void> {
    this.#running++;
    await flight.begin(this.#checks);
    if (flight.plugin.persistent === undefined) await this.#runAttempts(flight);
    else await this.#converse(flight, this.#fleetOf(flight.plugin));
    flight.over();
    this.#flights.delete(flight);
    this.#running--;
    this.#launch();
  }

  /** One process after another. */
  async #runAttempts(flight: Flight): Promise<void> {
    while (flight.hasNext) {
      const task = flight.next();
      const startedUs = steadyUs();
      const { verdict, permanent, body } = flight.state.settle(await this.#attempt(flight, task));
      const runUs = Math.round(steadyUs() - startedUs);
      flight.ended({ task, verdict, permanent, startedUs, runUs }, body);
    }
  }

  async #attempt(flight: Flight, task: number): Promise<Settled> {
    const { plugin, mask, frame } = flight;
    try {
      const asked = flight.request(task);
      if ('settled' in asked) return asked.settled;
      const program = await this.#programs.start(plugin);
      const settled = await runAttempt(plugin, program, asked.request, frame.head.deadlineMs, mask);
      // It may run again: then nothing of it may be left.
      if (settled.verdict !== 'ok') await this.#programs.gone();
      return settled;
    } catch (error) {
      return settleFailure(`cannot start ${plugin.entrypoint}: ${describe(error)}`, false);
    }
  }

  /** With one process after another, should one have done its share. */
  async #converse(flight: Flight, fleet: Fleet): Promise<void> {
    while (flight.hasNext) {
      const taken = await fleet.take();
      const conversation = new Conversation(flight, this.#reports, this.#programs);
      if (typeof taken === 'string') {
        conversation.refuse(taken);
      } else {
        await conversation.hold(taken, fleet.room(taken));
        fleet.giveBack(taken);
      }
    }
  }

  #fleetOf(plugin: HostedPlugin): Fleet {
    const known = this.#fleets.get(plugin);
    if (known !== undefined) return known;
    const fleet = new Fleet(plugin, this.#programs, this.#reports);
    if (this.#current.includes(plugin)) this.#fleets.set(plugin, fleet);
    else fleet.retire();
    return fleet;
  }
}
