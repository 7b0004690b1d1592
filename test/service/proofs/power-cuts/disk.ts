// A model of a disk: what is durable, and what was written since the last sync, of which a power cut keeps any part.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../crash/random.ts';

/** The size of the unit that a disk writes whole or not at all. */
export const sectorBytes = 512;

type Version = { readonly bytes: Buffer; readonly write: Write };
export type Write = { isDone: boolean };

class File {
  /** The versions of each sector, oldest first. The first one is durable. */
  readonly #sectors = new Map<number, Version[]>();
  /** The length of the file: what is durable, and what programs see. */
  #durableBytes = 0;
  bytes = 0;

  write(at: number, data: Buffer): Write {
    const write = { isDone: false };
    for (let sector = Math.floor(at / sectorBytes); sector * sectorBytes < at + data.length; sector++) {
      const versions = this.#sectors.get(sector) ?? [{ bytes: Buffer.alloc(sectorBytes), write: { isDone: true } }];
      const bytes = Buffer.from(versions.at(-1)!.bytes);
      const start = sector * sectorBytes;
      data.copy(
        bytes,
        Math.max(0, at - start),
        Math.max(0, start - at),
        Math.min(data.length, start + sectorBytes - at),
      );
      this.#sectors.set(sector, [...versions, { bytes, write }]);
    }
    this.bytes = Math.max(this.bytes, at + data.length);
    return write;
  }

  truncate(bytes: number): void {
    this.bytes = bytes;
  }

  /** The writes that have ended, which a sync that begins at this moment makes durable. */
  written(): ReadonlySet<Write> {
    const all = [...this.#sectors.values()].flat().map(({ write }) => write);
    return new Set(all.filter(({ isDone }) => isDone));
  }

  sync(writes: ReadonlySet<Write>): void {
    for (const [sector, versions] of this.#sectors) {
      const last = versions.findLastIndex(({ write }) => writes.has(write));
      if (last > 0) this.#sectors.set(sector, versions.slice(last));
    }
    this.#durableBytes = this.bytes;
  }

  /** The content of the file as a power cut may leave it; `keeps`: how likely a sector that was not synced is kept. */
  image({ between }: Random, keeps: number): Buffer {
    const image = Buffer.alloc(this.bytes);
    let length = this.#durableBytes;
    for (const [sector, versions] of this.#sectors) {
      const isKept = versions.length > 1 && between(1, 1000) <= keeps * 1000;
      const place = isKept ? between(1, versions.length - 1) : 0;
      versions[place]!.bytes.copy(image, sector * sectorBytes);
      if (isKept) length = Math.max(length, Math.min(this.bytes, (sector + 1) * sectorBytes));
    }
    return image.subarray(0, between(0, 1) === 0 ? length : this.bytes);
  }
}

type Node = File | Directory;
type Change = (names: Map<string, Node>) => void;

class Directory {
  readonly names = new Map<string, Node>();
  #durable = new Map<string, Node>();
  #changes: Change[] = [];

  change(change: Change): void {
    change(this.names);
    this.#changes.push(change);
  }

  sync(): void {
    this.#durable = new Map(this.names);
    this.#changes = [];
  }

  /** The names after a power cut. A file system's journal keeps changes in order, so a cut keeps those up to some moment. */
  image({ between }: Random): ReadonlyMap<string, Node> {
    const names = new Map(this.#durable);
    for (const change of this.#changes.slice(0, between(0, this.#changes.length))) change(names);
    return names;
  }
}

/** Everything below one directory, which is itself durable. */
export class Disk {
  readonly #root = new Directory();

  file(path: string): File | undefined {
    const node = this.#find(path);
    return node instanceof File ? node : undefined;
  }

  create(path: string): File {
    const file = new File();
    this.#put(path, file);
    return file;
  }

  makeDirectory(path: string): void {
    this.#put(path, new Directory());
  }

  link(from: string, to: string): void {
    this.#put(to, this.#find(from)!);
  }

  rename(from: string, to: string): void {
    const [directory, name] = this.#placeOf(from);
    const [target, newName] = this.#placeOf(to);
    if (directory !== target) throw new Error(`${from} was renamed to another directory, ${to}`);
    directory.change(names => {
      const node = names.get(name);
      if (!node) return;
      names.delete(name);
      names.set(newName, node);
    });
  }

  remove(path: string): void {
    const [directory, name] = this.#placeOf(path);
    directory.change(names => names.delete(name));
  }

  /** Makes the names in a directory durable. Returns whether the path is a directory. */
  syncDirectory(path: string): boolean {
    const node = this.#find(path);
    if (node instanceof Directory) node.sync();
    return node instanceof Directory;
  }

  /** Writes down what a cut leaves; `keeps`: how likely each sector that was not synced is kept. */
  writeImage(into: string, random: Random, keeps: number): void {
    writeNames(into, this.#root, random, keeps);
  }

  #placeOf(path: string): [Directory, string] {
    const words = path.split('/');
    const name = words.pop()!;
    const directory = words.length === 0 ? this.#root : this.#find(words.join('/'));
    if (!(directory instanceof Directory)) throw new Error(`no directory for ${path}`);
    return [directory, name];
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const word of path === '' ? [] : path.split('/'))
      node = node instanceof Directory ? node.names.get(word) : undefined;
    return node;
  }

  #put(path: string, node: Node): void {
    const [directory, name] = this.#placeOf(path);
    directory.change(names => names.set(name, node));
  }
}

function writeNames(into: string, directory: Directory, random: Random, keeps: number): void {
  mkdirSync(into, { recursive: true, mode: 0o700 });
  for (const [name, node] of directory.image(random)) {
    if (node instanceof File) writeFileSync(join(into, name), node.image(random, keeps), { mode: 0o600 });
    else writeNames(join(into, name), node, random, keeps);
  }
}
