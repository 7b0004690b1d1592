// Numbers that stand for names in other tables: a number per pair of plugin and command, and a number per submitter. A number is never
// reused.

import type { Batch, Reader } from '../../../runtime/store/store.ts';
import { countsKey } from './counts.ts';
import { type CommandFilter, matchesCommand } from './job.ts';

const kinds = { command: 0, submitter: 1 } as const;
type NameKind = keyof typeof kinds;

export type CommandName = { readonly number: number; readonly plugin: string; readonly command: string };

function nameKey(kind: NameKind, number: number): Buffer {
  const key = Buffer.allocUnsafe(5);
  key[0] = kinds[kind];
  key.writeUInt32BE(number, 1);
  return key;
}

/** Reads the names. Any thread may use it. */
export class NameTable {
  readonly #reader: Reader;
  #known = -1;
  #commands: readonly CommandName[] = [];
  #submitters: readonly string[] = [];

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** Every plugin and command that has ever had a job, by number. */
  get commands(): readonly CommandName[] {
    this.#refresh();
    return this.#commands;
  }

  /** Every submitter of a job that has ever had a log, by number. */
  get submitters(): readonly string[] {
    this.#refresh();
    return this.#submitters;
  }

  #refresh(): void {
    const count = this.#reader.count('names');
    if (count === this.#known) return;
    const texts = readNames(this.#reader);
    this.#commands = texts.command.map((text, number) => {
      const [plugin = '', command = ''] = text.split('\0');
      return { number, plugin, command };
    });
    this.#submitters = texts.submitter;
    this.#known = texts.command.length + texts.submitter.length;
  }
}

/** The numbers of the commands that match the filter. */
export function numbersOf({ commands }: NameTable, filter: CommandFilter): number[] {
  return commands.filter(name => matchesCommand(filter, name)).map(({ number }) => number);
}

function readNames(reader: Reader): Record<NameKind, string[]> {
  const texts: Record<NameKind, string[]> = { command: [], submitter: [] };
  for (const { key, value } of reader.scan('names', {})) {
    texts[key[0] === kinds.command ? 'command' : 'submitter'].push(Buffer.from(value).toString());
  }
  return texts;
}

/** Writes the names, on the ledger thread. A new name gets the next number, in the commit that first needs it. */
export class NameTableWriter {
  readonly #numbers: Record<NameKind, Map<string, number>> = { command: new Map(), submitter: new Map() };
  /** New names that have not been written yet. */
  readonly #fresh: (readonly [NameKind, number, string])[] = [];

  constructor(reader: Reader) {
    const texts = readNames(reader);
    for (const kind of Object.keys(texts) as NameKind[]) {
      for (const [number, text] of texts[kind].entries()) this.#numbers[kind].set(text, number);
    }
  }

  command(plugin: string, command: string): number {
    return this.#numberOf('command', countsKey(plugin, command));
  }

  submitter(text: string): number {
    return this.#numberOf('submitter', text);
  }

  close(batch: Batch): void {
    for (const [kind, number, text] of this.#fresh) batch.put('names', nameKey(kind, number), Buffer.from(text));
    this.#fresh.length = 0;
  }

  #numberOf(kind: NameKind, text: string): number {
    const numbers = this.#numbers[kind];
    let number = numbers.get(text);
    if (number === undefined) {
      number = numbers.size;
      numbers.set(text, number);
      this.#fresh.push([kind, number, text]);
    }
    return number;
  }
}
