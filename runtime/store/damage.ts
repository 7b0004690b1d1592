// Checks a data file before LMDB maps it into memory. LMDB trusts the page numbers that it reads. A wrong page number ends the process with
// SIGSEGV or SIGBUS.
//
// The check reads about 50 pages of a ledger, whatever its size: both meta pages, the root of the free list, the directory of
// databases, and the root of each database. If the file lacks its last pages, the check reads all pages of its trees.
import { fstatSync, readSync, statSync } from 'node:fs';
import { withFile } from '../durable-file.ts';
import { StoreFault } from './store.ts';

/** Thrown if the data file is damaged. The file is left as it is. */
export class StoreDamaged extends StoreFault {
  readonly damage: string;
  constructor(directory: string, file: string, damage: string) {
    const remedy = `restore ${directory} from a backup, or move it away to start with an empty state`;
    super(`${file} is damaged: ${damage}; ${remedy}`);
    this.damage = damage;
  }
}

/** LMDB's format, as lmdb-js 3 writes it on 64-bit machines. All numbers in it are little endian. */
const magic = 0xbeefc0de;
const dataVersion = 2;
/** The header of a page: number (8), transaction (8), padding (2), flags (2), end of the node pointers (2), start of the nodes (2). */
const headerBytes = 24;
const flagsAt = 18;
const lowerAt = 20;
const branchFlag = 0x01;
const leafFlag = 0x02;
const overflowFlag = 0x04;
const metaFlag = 0x08;
const kindFlags = 0x0f;
/** A meta page, after its header: magic (4), version (4), address (8), map size (8), two databases, last page (8), transaction (8). */
export const databasesAt = headerBytes + 24;
/** A database: page size (4), flags (2), depth (2); the numbers of branch, leaf and overflow pages and of entries (8 each); root (8). */
const databaseBytes = 48;
const depthAt = 6;
const rootAt = 40;
const lastPageAt = databasesAt + 2 * databaseBytes;
export const transactionAt = lastPageAt + 8;
export const metaBytes = transactionAt + 8;
/** A node: length of the value (4), flags (2), length of the key (2), key, value. In a branch page, the first 6 bytes are a page number. */
const nodeBytes = 8;
const pageNumberBytes = 6;
const bigFlag = 0x01;
const databaseFlag = 0x02;

export const metaPages = 2;
export const pageBytesMin = 512;
export const pageBytesMax = 65_536;
/** The page number of the root of an empty database. */
const noPage = 2 ** 64;
const depthMax = 32;
/**
 * The maximum number of checks. If another process writes the file during a check, the check may report damage that does not exist, and is
 * repeated. If the file has changed during each check, it counts as sound, because commits succeed.
 */
const readsMax = 3;

type Tree = { readonly depth: number; readonly root: number };

/** Whether these are the first bytes of a meta page of LMDB. */
export function isMeta(bytes: Buffer): boolean {
  if (bytes.length < metaBytes || (bytes.readUInt16LE(flagsAt) & metaFlag) === 0) return false;
  return bytes.readUInt32LE(headerBytes) === magic;
}

/** Thrown when the check finds damage; the message describes the damage. */
class Damage extends Error {}

/** Whether the data file exists and is not empty. */
export function hasPages(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * A short description of the damage. Null: no damage was found, the file has changed during each check (`readsMax`), or the file is missing
 * or empty.
 */
export function damageOf(path: string): string | null {
  if (!hasPages(path)) return null;
  return withFile(path, 'r', descriptor => {
    for (let read = 1; ; read++) {
      const file = new DataFile(descriptor);
      const found = file.damage();
      if (found === null || !file.hasChanged()) return found;
      if (read === readsMax) return null;
    }
  });
}

class DataFile {
  readonly #descriptor: number;
  readonly #bytes: number;
  #pageBytes = pageBytesMin;
  /** The meta pages as they were at the beginning of the check. Each commit changes them. */
  readonly #metas: Buffer;
  /**
   * The number of pages in the file, up to the last page that the newest meta page names. Every page number in the file must be less than
   * this.
   */
  #pages = 0;
  /** Whether the check reads all pages of the trees, or only their roots. */
  #isWhole = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    this.#metas = this.#readMetas();
    // The size is read after the meta pages, because all pages to which the meta pages refer were written before them.
    this.#bytes = fstatSync(descriptor).size;
  }

  hasChanged(): boolean {
    return !this.#metas.equals(this.#readMetas());
  }

  damage(): string | null {
    try {
      this.#check();
      return null;
    } catch (error) {
      if (error instanceof Damage) return error.message;
      // An offset in a page points outside the page.
      if (error instanceof RangeError) return 'one of its pages has an invalid structure';
      throw error;
    }
  }

  #readMetas(): Buffer {
    return this.#read(0, pageBytesMax + metaBytes);
  }

  #check(): void {
    const first = this.#checkMeta(0, 0);
    const pageBytes = first.readUInt32LE(databasesAt);
    if (pageBytes < pageBytesMin || pageBytes > pageBytesMax || (pageBytes & (pageBytes - 1)) !== 0)
      throw new Damage(`its page size of ${pageBytes} bytes is invalid`);
    this.#pageBytes = pageBytes;
    const second = this.#checkMeta(1, pageBytes);
    const isFirst = pageNumber(first, transactionAt) >= pageNumber(second, transactionAt);
    const newest = isFirst ? first : second;

    const inFile = Math.floor(this.#bytes / pageBytes);
    const used = pageNumber(newest, lastPageAt) + 1;
    // A file that lacks its last pages may be sound, if these pages are free. So all trees are checked as a whole.
    this.#isWhole = inFile < used;
    this.#pages = Math.min(inFile, used);
    this.#checkTree(treeAt(newest, databasesAt), this.#isWhole);
    this.#checkTree(treeAt(newest, databasesAt + databaseBytes), true);
  }

  #checkMeta(number: number, at: number): Buffer {
    const meta = this.#metas.subarray(at, at + metaBytes);
    if (!isMeta(meta))
      throw new Damage(
        number === 0 ? 'it does not begin with the header of an LMDB database' : 'its second meta page is damaged',
      );
    const version = meta.readUInt32LE(headerBytes + 4) & 0xffff;
    if (version !== dataVersion) throw new Damage(`its LMDB format has version ${version}, not ${dataVersion}`);
    return meta;
  }

  /**
   * Checks the root of a B+ tree or, with `isWhole`, all pages of the tree, and the trees and values to which its nodes refer
   * (`#checkNode`).
   */
  #checkTree({ depth, root }: Tree, isWhole: boolean): void {
    if (root === noPage && depth === 0) return;
    if (depth < 1 || depth > depthMax) throw new Damage(`one of its trees is ${depth} pages deep`);
    this.#checkPage(root, depth, isWhole);
  }

  /** `height`: the number of levels from this page down; 1 for a leaf. */
  #checkPage(number: number, height: number, isWhole: boolean): void {
    const page = this.#page(number, height === 1 ? leafFlag : branchFlag);
    if (!isWhole) return;
    const nodes = page.readUInt16LE(lowerAt) / 2;
    for (let i = 0; i < nodes; i++) {
      const at = headerBytes + page.readUInt16LE(headerBytes + 2 * i);
      if (height > 1) this.#checkPage(page.readUIntLE(at, pageNumberBytes), height - 1, true);
      else this.#checkNode(page, at);
    }
  }

  #checkNode(page: Buffer, at: number): void {
    const flags = page.readUInt16LE(at + 4);
    const valueAt = at + nodeBytes + page.readUInt16LE(at + 6);
    if ((flags & databaseFlag) !== 0) this.#checkTree(treeAt(page, valueAt), this.#isWhole);
    else if ((flags & bigFlag) !== 0) this.#checkBig(pageNumber(page, valueAt), pageNumber(page, valueAt + 16));
  }

  /** Checks that a value with pages of its own begins with a page of the right kind and lies in the file. */
  #checkBig(number: number, count: number): void {
    this.#page(number, overflowFlag);
    if (number + count > this.#pages) throw new Damage(`it was cut off: page ${number + count - 1} is missing`);
  }

  #page(number: number, flag: number): Buffer {
    if (number < metaPages) throw new Damage(`its page ${number} is of the wrong kind`);
    if (number >= this.#pages)
      throw new Damage(
        this.#isWhole
          ? `it was cut off: page ${number} is missing`
          : `it refers to page ${number}, which does not exist`,
      );
    const page = this.#read(number * this.#pageBytes, this.#pageBytes);
    if (pageNumber(page, 0) !== number || (page.readUInt16LE(flagsAt) & kindFlags) !== flag)
      throw new Damage(`its page ${number} is of the wrong kind`);
    return page;
  }

  #read(at: number, length: number): Buffer {
    const bytes = Buffer.alloc(length);
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, length, at));
  }
}

function treeAt(page: Buffer, at: number): Tree {
  return { depth: page.readUInt16LE(at + depthAt), root: pageNumber(page, at + rootAt) };
}

/** Reads a page number. A double rounds numbers above 2^53, but no file has so many pages. */
function pageNumber(page: Buffer, at: number): number {
  return Number(page.readBigUInt64LE(at));
}
