// Which invariants of a block must be checked again when records of the block have changed.
import type { Table } from '../../../runtime/store/store.ts';

/** A set of the tables below, one bit each. */
export type Tables = number;

/** The offset of the block's key in the keys of these tables. */
export const blockAt: { readonly [T in Table]?: number } = {
  blocks: 0,
  open: 0,
  retries: 0,
  rescheduled: 0,
  timers: 9,
  attempts: 0,
  bodies: 0,
  runs: 0,
  tree: 16,
};

/** Invariants of a block that depend on these tables alone. Any other is checked whenever a record of the block changes. */
export const followsFrom: { readonly [name: string]: readonly Table[] } = {
  open_jobs_have_blocks: ['blocks', 'open'],
  open_runs_go_on: ['open', 'runs'],
  retries_are_counted: ['open', 'retries'],
  delayed_jobs_have_timers: ['open', 'timers', 'rescheduled'],
  settled_jobs_have_logs: ['blocks', 'open', 'attempts'],
  final_states_are_last: ['blocks', 'attempts'],
  children_have_parents: ['blocks'],
  blocks_are_in_trees: ['blocks', 'tree'],
  blocks_are_listed_by_command: ['blocks'],
  trees_of_settled_runs_are_closed: ['blocks', 'open'],
  unsuccessful_jobs_are_listed: ['blocks', 'attempts'],
  attempts_are_in_journal: ['blocks', 'attempts'],
  tagged_jobs_are_listed: ['blocks'],
  trees_have_the_tags_of_their_root: ['blocks'],
  // Payloads and results may also refer to arrivals: if arrivals change, this invariant is checked for every block of the commit.
  values_have_their_parts: ['blocks', 'attempts'],
  // These need no check here: counted.ts and counted-runs.ts compare the counts at each commit.
  delayed_jobs_are_counted: [],
  open_runs_are_counted: [],
};
/** The set for records that do not belong to a block. */
export const nowhere: Tables = 0;
export const anywhere: Tables = -1;

const bits = new Map(Object.keys(blockAt).map((table, place) => [table, 1 << place]));

export function bitOf(table: Table): Tables {
  return bits.get(table) ?? nowhere;
}

export function bitsOf(tables: readonly Table[]): Tables {
  return tables.reduce((all, table) => all | bitOf(table), nowhere);
}
