// Marks of the programs that a host runs, in one file with a place for each: a file for each would be a tenth of a start.
import { openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { steadyUs } from '../clock.ts';
import { bootId, pidNamespace } from '../process.ts';

/** The part of the file's name behind that of the host. */
export const programsPart = 'programs';

/** The boot and the namespace in which the numbers mean something, as JSON, filled up with blanks. */
const headBytes = 256;
/** Pid (4), nothing (4), when it was marked on the steady clock in µs (8). Pid 0: the place is free. */
const placeBytes = 16;

export type ProgramMark = { readonly pid: number; readonly markedUs: number };
type Head = { readonly bootId: string | null; readonly namespace: string | null };

export class ProgramMarks {
  /** Of the host. */
  readonly id: string;
  readonly #path: string;
  #file: number | null = null;
  readonly #places = new Map<number, number>();
  readonly #free: number[] = [];
  readonly #bytes = Buffer.alloc(placeBytes);

  /** The directory is there; the file is made with the first mark. */
  constructor(directory: string, name: string, id: string) {
    this.id = id;
    this.#path = join(directory, `${name}.${id}.${programsPart}`);
  }

  /** Throws where it cannot be written. */
  put(pid: number): void {
    this.#file ??= this.#open();
    const place = this.#free.at(-1) ?? this.#places.size;
    this.#write(this.#file, place, pid, steadyUs());
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

  #write(file: number, place: number, pid: number, markedUs: number): void {
    this.#bytes.writeUInt32LE(pid, 0);
    this.#bytes.writeDoubleLE(markedUs, 8);
    writeSync(file, this.#bytes, 0, placeBytes, headBytes + place * placeBytes);
  }
}

/** What such a file holds; nothing, where it was written half when the machine went down: nothing of that time lives. */
export function readProgramMarks(path: string): Head & { readonly programs: readonly ProgramMark[] } {
  const programs: ProgramMark[] = [];
  try {
    const bytes = readFileSync(path);
    const head = JSON.parse(bytes.toString('latin1', 0, headBytes)) as Head;
    for (let at = headBytes; at + placeBytes <= bytes.length; at += placeBytes) {
      const pid = bytes.readUInt32LE(at);
      if (pid !== 0) programs.push({ pid, markedUs: bytes.readDoubleLE(at + 8) });
    }
    return { ...head, programs };
  } catch {
    return { bootId: null, namespace: null, programs: [] };
  }
}
