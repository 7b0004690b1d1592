// Frames of process plugins: so many at once, the others wait in order; the tasks of a frame run one after another.
import { steadyUs } from '../clock.ts';
import { type Json, unpack } from '../packing.ts';
import { runAttempt } from './attempt.ts';
import { verifyEntrypoint } from './digests.ts';
import { Frame } from './frame.ts';
import type { Marks } from './marks.ts';
import { Mask } from './mask.ts';
import type { HostedPlugin } from './port.ts';
import { Programs } from './program.ts';
import type { Reports } from './reports.ts';
import { makeRequest } from './request.ts';
import { describe, type Settled, settleFailure } from './response.ts';
import { PayloadChecks } from './schema.ts';
import { FrameState } from './state.ts';

/** When a task runs longer, those behind it in the frame go back. */
const slowMs = 5;

type Flight = { readonly frame: Frame; readonly plugin: HostedPlugin; begun: boolean; next: number; end: number };

export class ProcessFrames {
  readonly #slots: number;
  readonly #programs: Programs;
  readonly #reports: Reports;
  readonly #flights = new Set<Flight>();
  readonly #checks = new PayloadChecks();
  #running = 0;

  constructor(slots: number, marks: Marks, reports: Reports) {
    this.#slots = slots;
    this.#programs = new Programs(marks);
    this.#reports = reports;
  }

  get idle(): boolean {
    return this.#flights.size === 0;
  }

  /** The frame's bytes are a view of what came over the pipe: they are copied. */
  submit(bytes: Buffer, plugin: HostedPlugin): void {
    const frame = new Frame(Buffer.from(bytes));
    this.#flights.add({ frame, plugin, begun: false, next: 0, end: frame.head.count });
    this.#launch();
  }

  returnUnstarted(): void {
    for (const flight of this.#flights) this.#takeBack(flight);
  }

  /** Kills whatever runs. */
  kill(): void {
    this.#programs.killAll();
  }

  #launch(): void {
    for (const flight of this.#flights) {
      if (this.#running >= this.#slots) return;
      if (flight.begun) continue;
      flight.begun = true;
      this.#running++;
      void this.#run(flight);
    }
  }

  #takeBack(flight: Flight): void {
    this.#reports.returned(flight.frame.head.frameId, flight.next, flight.end);
    flight.end = flight.next;
    if (!flight.begun) this.#flights.delete(flight);
  }

  async #run(flight: Flight): Promise<void> {
    const { frame, plugin } = flight;
    const { frameId } = frame.head;
    const mask = Mask.of(frame.secrets);
    const state = new FrameState(frame.state, mask, plugin.commands[frame.command]?.replacesState);
    const slow = setTimeout(() => this.#takeBack(flight), slowMs);
    while (flight.next < flight.end) {
      const task = flight.next++;
      const startedMs = Date.now();
      const startedUs = steadyUs();
      const settled = state.settle(await this.#attempt(flight, task, state, startedMs, mask));
      slow.refresh();
      const { verdict, permanent, body } = settled;
      const runUs = Math.round(steadyUs() - startedUs);
      this.#reports.outcome(frameId, { task, verdict, permanent, startedUs, runUs }, body);
    }
    clearTimeout(slow);
    this.#flights.delete(flight);
    this.#running--;
    this.#launch();
  }

  async #attempt(
    { frame, plugin }: Flight,
    task: number,
    state: FrameState,
    startedMs: number,
    mask: Mask | null,
  ): Promise<Settled> {
    const payload = unpack<Json>(frame.payload(task));
    const schema = plugin.commands[frame.command]?.inputSchema;
    const mismatch = schema ? (await this.#checks.of(schema))(payload) : null;
    if (mismatch !== null) return settleFailure(mismatch, true);
    const { deadlineMs } = frame.head;
    const deadlineAt = new Date(startedMs + deadlineMs).toISOString();
    try {
      await verifyEntrypoint(plugin);
      const request = makeRequest(frame, task, plugin, payload, state.fresh(), deadlineAt);
      const settled = await runAttempt(plugin, this.#programs.start(plugin), request, deadlineMs, mask);
      // It may run again: then nothing of it may be left.
      if (settled.verdict !== 'ok') await this.#programs.gone();
      return settled;
    } catch (error) {
      return settleFailure(`cannot start ${plugin.entrypoint}: ${describe(error)}`, false);
    }
  }
}
