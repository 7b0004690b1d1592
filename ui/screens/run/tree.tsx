// The tree of a run. Only the rows in view are in the document, and a branch is read when it is opened, one page at a time.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Refusal, request } from '../../core/api.ts';
import { count, duration } from '../../core/format.ts';
import { href, queryText } from '../../core/router.ts';
import { JobId, Problem, Section, Status, Time } from '../../parts/index.ts';
import { microsOf } from './timeline.ts';
import { emptyTree, parentRow, type TreeChild, type TreeRow, toggled, treeRows, withPage } from './tree-rows.ts';

/** The height of a row, as in run.css. */
const rowPx = 32;
const viewPx = 480;
const pageSize = 200;
/** The rows above and below the view that are in the document. */
const aroundRows = 8;

type JobsPage = { readonly jobs: readonly TreeChild[]; readonly total: number; readonly next_cursor?: string };

/** `version` changes when the tree may have changed. Branches that have been read are then read again. */
export function RunTree({ run, version }: { run: string; version: number }): JSX.Element {
  const [state, setState] = useState(emptyTree);
  const [error, setError] = useState<Refusal | null>(null);
  const [top, setTop] = useState(0);
  const [focused, setFocused] = useState(0);
  const view = useRef<HTMLDivElement>(null);
  const reading = useRef(new Set<string>());
  /** Branches that may have changed while they were read. */
  const stale = useRef(new Set<string>());

  const read = async (parent: string, isAgain = false) => {
    if (reading.current.has(parent)) {
      if (isAgain) stale.current.add(parent);
      return;
    }
    reading.current.add(parent);
    const cursor = isAgain ? undefined : (state.branches.get(parent)?.next ?? undefined);
    try {
      const page = await request<JobsPage>('GET', `/jobs${queryText({ parent, limit: String(pageSize), cursor })}`);
      setState(before => withPage(isAgain ? withoutBranch(before, parent) : before, parent, page));
      setError(null);
    } catch (refusal) {
      if (!(refusal instanceof Refusal)) throw refusal;
      setError(refusal);
    } finally {
      reading.current.delete(parent);
      if (stale.current.delete(parent)) void read(parent, true);
    }
  };

  useEffect(() => {
    // A branch of several pages keeps what was read: reading all of it again would be slow, and would move the rows.
    for (const parent of new Set([...state.branches.keys(), ...reading.current]))
      if ((state.branches.get(parent)?.jobs.length ?? 0) <= pageSize) void read(parent, true);
  }, [version]);
  useEffect(() => {
    setState(emptyTree);
    setTop(0);
    setFocused(0);
    void read(run, true);
  }, [run]);

  const rows = useMemo(() => treeRows(state, run), [state, run]);
  const first = Math.max(0, Math.floor(top / rowPx) - aroundRows);
  const shown = rows.slice(first, first + Math.ceil(viewPx / rowPx) + 2 * aroundRows);
  // The next page of a branch is read when the row that stands for it comes into view.
  const missing = shown.find(row => row.kind === 'more' && state.branches.has(row.parent));
  useEffect(() => {
    if (missing?.kind === 'more' && error === null) void read(missing.parent);
  }, [missing?.kind === 'more' ? `${missing.parent} ${missing.left}` : '']);

  const open = (id: string, isOpen?: boolean) => {
    setState(before => toggled(before, id, isOpen));
    if (!state.branches.has(id)) void read(id);
  };
  const focus = (at: number) => {
    const row = Math.min(Math.max(at, 0), rows.length - 1);
    setFocused(row);
    const element = view.current!;
    if (row * rowPx < element.scrollTop) element.scrollTop = row * rowPx;
    else if ((row + 1) * rowPx > element.scrollTop + element.clientHeight)
      element.scrollTop = (row + 1) * rowPx - element.clientHeight;
  };
  const current = rows[focused];
  const keys: { readonly [key: string]: () => void } = {
    ArrowDown: () => focus(focused + 1),
    ArrowUp: () => focus(focused - 1),
    Home: () => focus(0),
    End: () => focus(rows.length - 1),
    PageDown: () => focus(focused + Math.floor(viewPx / rowPx)),
    PageUp: () => focus(focused - Math.floor(viewPx / rowPx)),
    ArrowRight: () => current?.kind === 'job' && open(current.job.job_id, true),
    ArrowLeft: () => {
      if (current?.kind === 'job' && current.isOpen) open(current.job.job_id, false);
      else focus(parentRow(rows, focused));
    },
  };
  return (
    <Section title="Tree" note="each job under the job whose end created it">
      {error && <Problem error={error} retry={() => void read(run, true)} />}
      <div
        class="run-tree"
        ref={view}
        role="tree"
        aria-label="Jobs of the run"
        tabIndex={0}
        aria-activedescendant={current ? rowId(focused) : undefined}
        style={{ height: `${Math.min(viewPx, Math.max(1, rows.length) * rowPx + 2)}px` }}
        onScroll={event => setTop(event.currentTarget.scrollTop)}
        onKeyDown={event => {
          const action = keys[event.key];
          if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
          event.preventDefault();
          event.stopPropagation();
          action();
        }}
      >
        <div class="run-tree-all" role="presentation" style={{ height: `${rows.length * rowPx}px` }}>
          {shown.map((row, index) => (
            <TreeLine
              key={row.kind === 'job' ? row.job.job_id : `more ${row.parent}`}
              row={row}
              at={first + index}
              isFocused={first + index === focused}
              onOpen={open}
              onFocus={() => setFocused(first + index)}
            />
          ))}
        </div>
      </div>
    </Section>
  );
}

function withoutBranch(state: typeof emptyTree, parent: string): typeof emptyTree {
  const branches = new Map(state.branches);
  branches.delete(parent);
  return { ...state, branches };
}

function rowId(at: number): string {
  return `tree-row-${at}`;
}

type TreeLineProps = {
  row: TreeRow;
  at: number;
  isFocused: boolean;
  onOpen: (id: string) => void;
  onFocus: () => void;
};

function TreeLine({ row, at, isFocused, onOpen, onFocus }: TreeLineProps) {
  const place = { top: `${at * rowPx}px`, paddingLeft: `${(row.level - 1) * 20 + 8}px` };
  const classes = isFocused ? 'tree-row tree-focused' : 'tree-row';
  if (row.kind === 'more')
    return (
      // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names its current item
      <div class={classes} id={rowId(at)} role="treeitem" aria-level={row.level} style={place}>
        <span class="muted">{row.left > 0 ? `${count(row.left)} more…` : 'Reading…'}</span>
      </div>
    );
  const { job, isOpen, children, level, place: position, siblings } = row;
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the tree has the focus, and names its current item
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys belong to the tree
    <div
      class={classes}
      id={rowId(at)}
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={children === 0 ? undefined : isOpen}
      style={place}
      onClick={onFocus}
    >
      {children === 0 ? (
        <span class="tree-toggle" />
      ) : (
        <button
          type="button"
          class="tree-toggle"
          tabIndex={-1}
          aria-label={isOpen ? 'Close' : 'Open'}
          onClick={() => onOpen(job.job_id)}
        >
          {isOpen ? '▾' : '▸'}
        </button>
      )}
      <Status status={job.status} />
      <span class="tree-name">
        <a href={href(job.plugin === 'pipeline' ? 'run' : 'job', job.job_id)} tabIndex={-1}>
          {job.step_id ?? workOfChild(job)}
        </a>
      </span>
      {children !== null && children > 0 && <span class="muted">{count(children)}</span>}
      <span class="tree-work muted">{job.step_id !== undefined && workOfChild(job)}</span>
      <JobId id={job.job_id} />
      {job.attempt > 1 && <span class="muted">attempt {job.attempt}</span>}
      <span class="tree-time number">
        {job.started_at !== null && job.completed_at !== null ? (
          duration(microsOf(job.completed_at) - microsOf(job.started_at))
        ) : (
          <Time at={job.started_at ?? job.created_at} />
        )}
      </span>
    </div>
  );
}

function workOfChild({ plugin, command }: TreeChild): string {
  return plugin === 'pipeline' ? command : `${plugin}.${command}`;
}
