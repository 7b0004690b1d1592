// Counts the descendants of each root, for the limit `service.max_jobs_per_root`.
//
// The count of a tree exists while the tree has an open run or a waiting emission. An emission stands for the events of
// one job, or the hooks for the end of one job or run, that wait to start runs (deferred-events.ts). A large count is
// stored in `descendants`, at most once per turn; a smaller one is counted again from the table `tree` when it is
// needed. The number of open runs and waiting emissions of a tree is stored in `open_trees` while it is above one. The
// commit that ends the last open run or emission of a tree removes the tree's entry in `descendants`. A tree without a
// run in memory is dropped from memory.
import type { JobId } from '../../runtime/ids.ts';
import { pack, unpack } from '../../runtime/packing.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Batch, Reader, Table } from '../../runtime/store/store.ts';
import { keyText } from '../job/records/open.ts';
import { countDescendants } from '../job/views/jobs.ts';
import type { TreeCounts } from './run.ts';

/** A count is stored once it reaches this number, or an eighth of the limit if that is less. */
const keptFromMax = 1024;

export class Descendants {
  readonly #reader: Reader;
  readonly #limit: () => number;
  readonly #setAside: SetAside;
  readonly #trees = new Map<string, TreeCounts>();
  #dirty: TreeCounts[] = [];
  /** Trees that may have no run in memory. `renew` drops the trees without a run in memory. */
  #idle: TreeCounts[] = [];

  constructor(reader: Reader, limit: () => number, setAside: SetAside) {
    this.#reader = reader;
    this.#limit = limit;
    this.#setAside = setAside;
  }

  /** Sets how many open runs and waiting emissions a tree has. States of earlier versions do not contain this number. */
  restore(root: JobId, open: number): void {
    const tree = this.held(root);
    tree.open = open;
    this.#change(tree);
  }

  /** The tree with this root. The caller knows that the tree has an open run or a waiting emission. */
  held(root: JobId): TreeCounts {
    return this.#find(root) ?? this.#add(root, -1, 1);
  }

  /** Counts a run of the tree that begins, or an emission that must wait. */
  open(root: JobId): TreeCounts {
    const tree = this.of(root);
    tree.open++;
    if (tree.open > 1) this.#change(tree);
    return tree;
  }

  /** The tree of a root run that begins. */
  begin(root: JobId): TreeCounts {
    return this.#add(root, 0, 1);
  }

  /** The tree with this root. If neither memory nor store has the tree, it has no descendants yet. */
  of(root: JobId): TreeCounts {
    return this.#find(root) ?? this.#add(root, 0, 0);
  }

  /** Stops counting a run of the tree that has ended, or an emission that waits no longer. */
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

  /** The tree, from memory or from the store. */
  #find(root: JobId): TreeCounts | undefined {
    const known = this.#trees.get(keyText(root));
    if (known) return known;
    const made = this.#reader.get('descendants', root);
    const open = this.#reader.get('open_trees', root);
    if (!made && !open) return undefined;
    // -1: the number is not stored or cannot be read, and `room` counts the descendants. It reads only `keptFromMax` entries of `tree`: each
    // entry has at least one descendant, and a larger number would have been stored.
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
    this.#trees.set(keyText(root), tree);
    this.#idle.push(tree);
    return tree;
  }

  /** How many more descendants the root may have. 0: only one more may be created, which is dead from the start. Negative: none. */
  room(tree: TreeCounts): number {
    if (tree.made < 0) tree.made = countDescendants(this.#reader, tree.root, keptFromMax);
    return this.#limit() - tree.made;
  }

  /** Adds new descendants to the count. Must follow a call of `room`. */
  made(tree: TreeCounts, count: number): void {
    tree.made += count;
    if (this.#isLarge(tree)) this.#change(tree);
  }

  #isLarge({ made }: TreeCounts): boolean {
    return made >= Math.min(keptFromMax, this.#limit() >> 3);
  }

  /** Writes the counts that have changed since the last call. */
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

  /** Begins a turn: the previous turn is committed. Trees without a run in memory are dropped. */
  renew(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const tree of idle) {
      if (tree.loaded > 0) continue;
      // A tree that is still dirty was changed by `restore` at the start of the service, and the change has not been
      // stored yet.
      if (tree.isDirty) this.#idle.push(tree);
      else this.#trees.delete(keyText(tree.root));
    }
  }

  /** Must be called when a run of the tree is dropped from memory. */
  release(tree: TreeCounts): void {
    tree.loaded--;
    if (tree.loaded === 0) this.#idle.push(tree);
  }
}
