// Marks of the programs that a host runs, in one file with a place for each: a file for each would be a tenth of a start.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { steadyUs } from '../clock.ts';
import { bootId, identify, pidNamespace } from './identity.ts';

/** The part of the file's name behind that of the host. */
export const programsPart = 'programs';

/** The boot and the namespace in which the numbers mean something, as JSON, filled up with blanks. */
const headBytes = 256;
/** Pid (4), nothing (4), when it was marked, in ticks since the boot as /proc tells starts in (8). Pid 0: the place is free. */
const placeBytes = 16;
/** Of /proc: a constant of the kernel's interface. */
const usPerTick = 10_000;
/** The ticks are read so often, and reckoned between. Sleeps of the machine count in them, and not on the steady clock. */
const readEveryUs = 1_000_000;

export type ProgramPid = { readonly pid: number; readonly ticks: number };
type Head = { readonly bootId: string | null; readonly namespace: string | null };

export class ProgramPids {
  /** Of the host. */
  readonly id: string;
  readonly #path: string;
  #file: number | null = null;
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #bytes = Buffer.alloc(placeBytes);
  /** Ticks, and when they were. */
  #read: { readonly ticks: number; readonly atUs: number } | null = null;

  /** The directory is there; the file is made with the first mark. */
  constructor(directory: string, name: string, id: string) {
    this.id = id;
    this.#path = join(directory, `${name}.${id}.${programsPart}`);
  }

  /** Throws where it cannot be written. */
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
      // It is harmless: it names a program that is gone.
    }
  }

  #open(): number {
    const file = openSync(this.#path, 'w', 0o600);
    const head: Head = { bootId: bootId(), namespace: pidNamespace() };
    writeSync(file, JSON.stringify(head).padEnd(headBytes));
    return file;
  }

  /** Of now; `pid` was just started. 0 where they cannot be told. */
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
    writeSync(file, this.#bytes, 0, placeBytes, headBytes + place * placeBytes);
  }
}

/** What such a file holds; nothing, where it was written half when the machine went down: nothing of that time lives. */
export function readProgramPids(path: string): Head & { readonly programs: readonly ProgramPid[] } {
  const programs: ProgramPid[] = [];
  try {
    const bytes = readFileSync(path);
    const head = JSON.parse(bytes.toString('latin1', 0, headBytes)) as Head;
    for (let at = headBytes; at + placeBytes <= bytes.length; at += placeBytes) {
      const pid = bytes.readUInt32LE(at);
      if (pid !== 0) programs.push({ pid, ticks: bytes.readDoubleLE(at + 8) });
    }
    return { ...head, programs };
  } catch {
    return { bootId: null, namespace: null, programs: [] };
  }
}
