// Plays the calls of a service on the model of a disk: what had been written, synced and answered at each moment.
import { relative } from 'node:path';
import { bytesOf, type Call, fileOf, plain } from '../strace.ts';
import { Disk, type Write } from './disk.ts';

/** What callers had been told: by the answers that the service had begun to send. */
export type Told = {
  /** Jobs that were answered with 202. */
  readonly accepted: Set<string>;
  /** Jobs whose end was read, with their status. */
  readonly ended: Map<string, string>;
  hasVault: boolean;
};

export const tracedCalls = [
  ...['openat', 'lseek', 'write', 'writev', 'pwrite64', 'pwritev', 'pwritev2', 'ftruncate', 'fallocate'],
  ...['fsync', 'fdatasync', 'sync_file_range', 'msync', 'mmap', 'sendto'],
  ...['mkdir', 'mkdirat', 'rename', 'renameat', 'renameat2', 'link', 'linkat', 'unlink', 'unlinkat', 'rmdir'],
];

const terminal = ['succeeded', 'failed', 'timed_out', 'dead', 'cancelled'];
/** The lock file of LMDB: the first process that opens the store creates it again, so its content does not matter. */
const mapped = /(^|\/)lock\.mdb$/;

/** A mark among the calls: the command that creates the vault has ended. */
export const vaultIsMade: Call = { thread: 0, name: 'vault', words: '', result: 0 };

/** Whether the syncs of the file are lost; its path is relative to the root. */
export type IgnoredSyncs = (path: string) => boolean;

/** `root`: the directory whose content is modelled. `ignoresSyncs`: the files whose syncs the disk confirms, but does not carry out. */
export class Replay {
  readonly disk = new Disk();
  readonly told: Told = { accepted: new Set(), ended: new Map(), hasVault: false };
  readonly #root: string;
  readonly #ignoresSyncs: IgnoredSyncs;
  /** The position in each open file, by descriptor and path. */
  readonly #offsets = new Map<string, number>();
  readonly #syncing = new Set<string>();
  /** The writes and syncs that have begun and not ended, by thread. */
  readonly #writes = new Map<number, Write>();
  readonly #syncs = new Map<number, ReadonlySet<Write>>();

  constructor(root: string, ignoresSyncs: IgnoredSyncs) {
    this.#root = root;
    this.#ignoresSyncs = ignoresSyncs;
  }

  /** Applies a call. Returns whether a power cut after it could leave something else than before it. */
  play(call: Call): boolean {
    const { name, words, result } = call;
    if (call === vaultIsMade) this.told.hasVault = true;
    if (name === 'sendto') return result === null && this.#answer(bytesOf(words)[0]);
    if (/^(mkdir|rename|link|unlink|rmdir|openat)/.test(name))
      return result !== null && result >= 0 && this.#name(call);
    const file = fileOf(words);
    const path = file && this.#inside(file.path);
    if (file === null || path === null) return false;
    const place = `${file.descriptor} ${path}`;
    if (name === 'lseek') {
      if (result !== null && result >= 0) this.#offsets.set(place, result);
      return false;
    }
    if (/sync/.test(name)) return this.#sync(call, path);
    if (/write/.test(name)) return this.#write(call, path, place);
    if (name === 'ftruncate' || name === 'fallocate') {
      if (result === 0) this.disk.file(path)?.truncate(Number(/, (\d+)$/.exec(words)![1]));
      return result === 0;
    }
    return false;
  }

  #write({ name, words, result, thread }: Call, path: string, place: string): boolean {
    const file = this.disk.file(path);
    if (!file) throw new Error(`${name} to ${path}, which nobody made`);
    if (result === null) {
      const data = Buffer.concat(bytesOf(words));
      const isPlaced = name.startsWith('p');
      const at = isPlaced ? Number(/, (\d+)$/.exec(words)![1]) : (this.#offsets.get(place) ?? 0);
      if (!isPlaced) this.#offsets.set(place, at + data.length);
      this.#writes.set(thread, file.write(at, data));
      return true;
    }
    const write = this.#writes.get(thread)!;
    write.isDone = true;
    if (this.#syncing.has(place) && !this.#ignoresSyncs(path)) file.sync(new Set([write]));
    return true;
  }

  #sync({ words, result, thread, name }: Call, path: string): boolean {
    if (!/^f(data)?sync$/.test(name)) throw new Error(`${name}(${words.slice(0, 80)} is not modelled`);
    const file = this.disk.file(path);
    if (result === null) {
      if (file) this.#syncs.set(thread, file.written());
      return false;
    }
    if (result !== 0 || this.#ignoresSyncs(path)) return false;
    if (file) file.sync(this.#syncs.get(thread)!);
    else this.disk.syncDirectory(path);
    return true;
  }

  /** A file is opened, or its name changes. */
  #name({ name, words, result }: Call): boolean {
    const [from, to] = bytesOf(words).map(bytes => this.#inside(plain(bytes.toString('latin1'))));
    if (name === 'openat') return from != null && this.#open(from, words, result!);
    if (from == null) return false;
    if (name.startsWith('mkdir')) this.disk.makeDirectory(from);
    else if (name.startsWith('rename')) this.disk.rename(from, to!);
    else if (name.startsWith('link')) this.disk.link(from, to!);
    else this.disk.remove(from);
    return true;
  }

  #open(path: string, words: string, descriptor: number): boolean {
    const known = this.disk.file(path);
    const place = `${descriptor} ${path}`;
    this.#offsets.set(place, /O_APPEND/.test(words) ? (known?.bytes ?? 0) : 0);
    if (/O_D?SYNC/.test(words)) this.#syncing.add(place);
    else this.#syncing.delete(place);
    if (!known && /O_CREAT/.test(words)) this.disk.create(path);
    else if (/O_TRUNC/.test(words)) known?.truncate(0);
    else return false;
    return true;
  }

  #answer(bytes: Buffer | undefined): boolean {
    const text = bytes?.toString() ?? '';
    if (!text.startsWith('HTTP/1.1 ')) return false;
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    // The body follows in another packet, so the caller does not know the job yet.
    if (body === '') return false;
    if (text.startsWith('HTTP/1.1 202')) this.told.accepted.add(String(JSON.parse(body).job_id));
    if (!text.startsWith('HTTP/1.1 200') || !body.startsWith('{"job_id"')) return false;
    const { job_id, status } = JSON.parse(body);
    if (terminal.includes(status)) this.told.ended.set(job_id, status);
    return false;
  }

  #inside(path: string): string | null {
    const inside = relative(this.#root, path);
    return inside.startsWith('..') || mapped.test(inside) ? null : inside;
  }
}

/** Files that are mapped with write access. The model lacks writes through memory, so only the lock file of LMDB may be among them. */
export function writableMaps(calls: readonly Call[]): string[] {
  const maps = calls.filter(
    ({ name, words, result }) =>
      name === 'mmap' && result === null && /PROT_WRITE/.test(words) && /MAP_SHARED/.test(words),
  );
  const paths = maps.map(({ words }) => /\d+<((?:[^<>\\]|\\.)*)>/.exec(words)?.[1]).filter(path => path !== undefined);
  return [...new Set(paths.map(plain))].filter(path => path.startsWith('/') && !path.startsWith('/dev/'));
}
