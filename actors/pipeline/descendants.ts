// How many descendants each root has: what one call or delivery may bring about is bounded, however its events branch.
//
// A count lives while a run of the tree is open, or events of it wait to start one. It is on disk (`descendants`) only from
// so many descendants on, and is then written once a turn; a smaller one is counted again in the table `tree` when it is
// needed. How many runs and waiting emissions are open is on disk (`open_trees`) where it is more than one. Both entries go in
// the commit that ends the last of them, so there are never more entries than open runs and waiting emissions. Trees of which
// no run is in memory are read again.
import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import { SetAside } from '../../runtime/store/set-aside.ts';
import type { Batch, Reader, Table } from '../../runtime/store/store.ts';
import { countDescendants } from '../job/views/jobs.ts';
import { idText, type TreeCounts } from './run.ts';

/** Counts from this size on are on disk; if an eighth of the limit is less, from there on. */
const keptFromMax = 1024;

export class Descendants {
  readonly #reader: Reader;
  readonly #limit: () => number;
  readonly #setAside: SetAside;
  readonly #trees = new Map<string, TreeCounts>();
  #dirty: TreeCounts[] = [];
  /** Trees of which no run was in memory when they were asked for. */
  #idle: TreeCounts[] = [];

  constructor(reader: Reader, limit: () => number, setAside = new SetAside()) {
    this.#reader = reader;
    this.#limit = limit;
    this.#setAside = setAside;
  }

  /** The counts of an earlier version are of the trees alone: this one has so many open runs and waiting emissions. */
  restore(root: JobId, open: number): void {
    const tree = this.held(root);
    tree.open = open;
    this.#change(tree);
  }

  /** The tree of a run that is open, or of an emission that waits. */
  held(root: JobId): TreeCounts {
    return this.#find(root) ?? this.#add(root, -1, 1);
  }

  /** A run of the tree begins, or events of it have to wait. Whoever brings that about holds the tree, or it is a new one. */
  open(root: JobId): TreeCounts {
    const tree = this.of(root);
    tree.open++;
    if (tree.open > 1) this.#change(tree);
    return tree;
  }

  /** The tree of a run that is a root, and begins. */
  begin(root: JobId): TreeCounts {
    return this.#add(root, 0, 1);
  }

  /** The tree; one that is not known has no descendants yet. */
  of(root: JobId): TreeCounts {
    return this.#find(root) ?? this.#add(root, 0, 0);
  }

  /** The opposite of `open`. */
  close(tree: TreeCounts): void {
    tree.open--;
    if (tree.isShared || tree.isKept) this.#change(tree);
    if (tree.loaded === 0) this.#idle.push(tree);
  }

  #change(tree: TreeCounts): void {
    if (tree.isDirty) return;
    tree.isDirty = true;
    this.#dirty.push(tree);
  }

  /** In memory, or on disk. */
  #find(root: JobId): TreeCounts | undefined {
    const known = this.#trees.get(idText(root));
    if (known) return known;
    const made = this.#reader.get('descendants', root);
    const open = this.#reader.get('open_trees', root);
    if (!made && !open) return undefined;
    // What cannot be read is counted again.
    const tree = this.#add(
      root,
      this.#number('descendants', root, made) ?? -1,
      this.#number('open_trees', root, open) ?? 1,
    );
    tree.isKept = made !== undefined;
    tree.isShared = open !== undefined;
    return tree;
  }

  #number(table: Table, root: JobId, value: Uint8Array | undefined): number | undefined {
    return value && this.#setAside.read(table, root, () => unpack<number>(value));
  }

  #add(root: JobId, made: number, open: number): TreeCounts {
    const tree = { root, made, open, isKept: false, isShared: false, isDirty: false, loaded: 0 };
    this.#trees.set(idText(root), tree);
    this.#idle.push(tree);
    return tree;
  }

  /** How many more the root may have; negative: it has had one too many already, which is the last. */
  room(tree: TreeCounts): number {
    if (tree.made < 0) tree.made = countDescendants(this.#reader, tree.root, keptFromMax);
    return this.#limit() - tree.made;
  }

  /** After `room`. */
  made(tree: TreeCounts, count: number): void {
    tree.made += count;
    if (this.#isLarge(tree)) this.#change(tree);
  }

  #isLarge({ made }: TreeCounts): boolean {
    return made >= Math.min(keptFromMax, this.#limit() >> 3);
  }

  /** Writes what changed since the last call. */
  flush(batch: Batch): void {
    for (const tree of this.#dirty) {
      tree.isDirty = false;
      const isKept = tree.open > 0 && (tree.isKept || this.#isLarge(tree));
      const isShared = tree.open > 1;
      if (isKept) batch.put('descendants', tree.root, pack(tree.made));
      else if (tree.isKept) batch.remove('descendants', tree.root);
      if (isShared) batch.put('open_trees', tree.root, pack(tree.open));
      else if (tree.isShared) batch.remove('open_trees', tree.root);
      tree.isKept = isKept;
      tree.isShared = isShared;
    }
    this.#dirty = [];
  }

  /** A new turn: what was written is on disk. Trees of which no run is in memory leave it. */
  renew(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const tree of idle) {
      if (tree.loaded > 0) continue;
      // Counted anew at the start, and not written yet.
      if (tree.isDirty) this.#idle.push(tree);
      else this.#trees.delete(idText(tree.root));
    }
  }

  /** A run of the tree leaves the memory. */
  release(tree: TreeCounts): void {
    tree.loaded--;
    if (tree.loaded === 0) this.#idle.push(tree);
  }
}
