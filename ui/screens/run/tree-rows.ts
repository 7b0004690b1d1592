// The rows of a tree of jobs whose branches are read when they are opened, one page at a time.

export type TreeChild = {
  readonly job_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly attempt: number;
  readonly step_id?: string;
};

/** The children of a job, as far as they have been read. */
export type Branch = {
  readonly jobs: readonly TreeChild[];
  readonly total: number;
  /** The cursor of the next page; null: all have been read. */
  readonly next: string | null;
};

export type TreeState = {
  readonly branches: ReadonlyMap<string, Branch>;
  readonly open: ReadonlySet<string>;
};

export type TreeRow =
  | {
      readonly kind: 'job';
      readonly job: TreeChild;
      readonly level: number;
      readonly isOpen: boolean;
      /** Null: not known before the branch has been read. */
      readonly children: number | null;
      readonly place: number;
      readonly siblings: number;
    }
  /** Stands for the children of `parent` that have not been read. */
  | { readonly kind: 'more'; readonly parent: string; readonly level: number; readonly left: number };

export const emptyTree: TreeState = { branches: new Map(), open: new Set() };

/** The rows that are visible, from the children of `root` on. */
export function treeRows({ branches, open }: TreeState, root: string): TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (parent: string, level: number) => {
    const branch = branches.get(parent);
    if (!branch) {
      rows.push({ kind: 'more', parent, level, left: 0 });
      return;
    }
    branch.jobs.forEach((job, index) => {
      const isOpen = open.has(job.job_id);
      const children = branches.get(job.job_id)?.total ?? null;
      rows.push({ kind: 'job', job, level, isOpen, children, place: index + 1, siblings: branch.total });
      if (isOpen) add(job.job_id, level + 1);
    });
    if (branch.next !== null) rows.push({ kind: 'more', parent, level, left: branch.total - branch.jobs.length });
  };
  add(root, 1);
  return rows;
}

/** Adds a page. A branch that fits into one page has its oldest job first. A longer branch has its newest job first, as its pages arrive. */
export function withPage(
  state: TreeState,
  parent: string,
  page: { readonly jobs: readonly TreeChild[]; readonly total: number; readonly next_cursor?: string },
): TreeState {
  const before = state.branches.get(parent);
  const next = page.next_cursor ?? null;
  const jobs = before ? [...before.jobs, ...page.jobs] : next === null ? page.jobs.toReversed() : page.jobs;
  return { ...state, branches: new Map(state.branches).set(parent, { jobs, total: page.total, next }) };
}

export function toggled(state: TreeState, id: string, isOpen = !state.open.has(id)): TreeState {
  const open = new Set(state.open);
  if (isOpen) open.add(id);
  else open.delete(id);
  return { ...state, open };
}

/** The row of the parent of row `at`; -1: it is at the top. */
export function parentRow(rows: readonly TreeRow[], at: number): number {
  const level = rows[at]?.level ?? 1;
  for (let row = at - 1; row >= 0; row--) if (rows[row]!.level < level) return row;
  return -1;
}
