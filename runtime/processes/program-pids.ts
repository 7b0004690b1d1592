// The pids of a host's programs, in one file with an entry for each program. With a file for each program, programs would take a tenth
// longer to start.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { steadyUs } from '../clock.ts';
import { bootId, identify, pidNamespace } from './identity.ts';

/** The last part of the file's name, after the name and the id of the host. */
export const programsPart = 'programs';

/** The length of the file's head: the boot and pid namespace in which the pids are valid, as JSON padded with blanks. */
const headBytes = 256;
/** The length of an entry: pid (4) | unused (4) | when it was written, in clock ticks since boot (8). Pid 0: a free entry. */
const entryBytes = 16;
/** The length of a clock tick in /proc, which is a constant of the kernel's interface. */
const usPerTick = 10_000;
/**
 * The time in ticks is read at most once in this period; in between, it is extrapolated from the steady clock. It must be read repeatedly,
 * because ticks also count while the machine sleeps, when the steady clock does not advance.
 */
const readEveryUs = 1_000_000;

export type ProgramPid = { readonly pid: number; readonly ticks: number };
type Head = { readonly bootId: string | null; readonly namespace: string | null };

export class ProgramPids {
  /** The id of the host. */
  readonly id: string;
  readonly #path: string;
  #file: number | null = null;
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #bytes = Buffer.alloc(entryBytes);
  /** The last reading of the ticks, and the steady time at which they were read. */
  #read: { readonly ticks: number; readonly atUs: number } | null = null;

  /** `directory` must exist. The file is created with the first pid. */
  constructor(directory: string, name: string, id: string) {
    this.id = id;
    this.#path = join(directory, `${name}.${id}.${programsPart}`);
  }

  /** Throws if the file cannot be written. */
  put(pid: number): void {
    this.#file ??= this.#open();
    const place = this.#free.at(-1) ?? this.#places.size;
    this.#write(this.#file, place, pid, this.#ticks(pid));
    this.#free.pop();
    this.#places.set(pid, place);
  }

  remove(pid: number): void {
    const place = this.#places.get(pid);
    if (place === undefined) return;
    this.#places.delete(pid);
    this.#free.push(place);
    try {
      this.#write(this.#file!, place, 0, 0);
    } catch {
      // The old entry is harmless, because its program has ended.
    }
  }

  #open(): number {
    const file = openSync(this.#path, 'w', 0o600);
    const head: Head = { bootId: bootId(), namespace: pidNamespace() };
    writeSync(file, JSON.stringify(head).padEnd(headBytes));
    return file;
  }

  /**
   * The present time in clock ticks: the start time of process `pid`, which was just started, or an extrapolation (`readEveryUs`). 0:
   * unknown.
   */
  #ticks(pid: number): number {
    const nowUs = steadyUs();
    if (this.#read === null || nowUs - this.#read.atUs > readEveryUs) {
      const { startTicks } = identify(pid);
      if (startTicks !== null) this.#read = { ticks: Number(startTicks), atUs: nowUs };
    }
    return this.#read === null ? 0 : this.#read.ticks + (nowUs - this.#read.atUs) / usPerTick;
  }

  #write(file: number, place: number, pid: number, ticks: number): void {
    this.#bytes.writeUInt32LE(pid, 0);
    this.#bytes.writeDoubleLE(ticks, 8);
    writeSync(file, this.#bytes, 0, entryBytes, headBytes + place * entryBytes);
  }
}

/** Reads the file of a host. Returns no programs if the file is missing or has no whole head, as after a power cut. */
export function readProgramPids(path: string): Head & { readonly programs: readonly ProgramPid[] } {
  const programs: ProgramPid[] = [];
  try {
    const bytes = readFileSync(path);
    const head = JSON.parse(bytes.toString('latin1', 0, headBytes)) as Head;
    for (let at = headBytes; at + entryBytes <= bytes.length; at += entryBytes) {
      const pid = bytes.readUInt32LE(at);
      if (pid !== 0) programs.push({ pid, ticks: bytes.readDoubleLE(at + 8) });
    }
    return { ...head, programs };
  } catch {
    return { bootId: null, namespace: null, programs: [] };
  }
}
