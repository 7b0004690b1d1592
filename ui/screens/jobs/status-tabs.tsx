// The statuses, each with the number of jobs that match the other filters.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refusal, request } from '../../core/api.ts';
import { count, now } from '../../core/format.ts';
import { isFrozen, useResource } from '../../core/resource.ts';
import { href, queryText } from '../../core/router.ts';
import { Status } from '../../parts/index.ts';
import { allStatuses, type Overview, overviewEvents } from '../now/overview.ts';
import { filterNames, type JobFilters } from './filters.ts';
import type { JobPage } from './job-row.ts';

type StatusCount = { readonly total: number; readonly isLeast: boolean };
type StatusCounts = Readonly<Record<string, StatusCount>>;

/** Each count with filters costs a read of its own, so counts are fetched less often than the list. */
const countEveryMs = 10_000;

export function StatusTabs({ filters }: { filters: JobFilters }): JSX.Element {
  const { status, ...others } = filters;
  const isFiltered = filterNames.some(name => name !== 'status' && filters[name] !== undefined);
  const overview = useResource<Overview>(isFiltered ? null : '/overview', { live: overviewEvents });
  const filtered = useFilteredCounts(isFiltered ? queryText(others) : null);
  const counts: StatusCounts | null = isFiltered ? filtered : fromOverview(overview.data);
  const all = counts && sumOf(Object.values(counts));
  return (
    <nav class="tabs status-tabs" aria-label="Statuses">
      <a href={href('jobs', null, others)} aria-current={status === undefined ? 'page' : undefined}>
        all <span class="tab-count">{countText(all ?? undefined)}</span>
      </a>
      {allStatuses.map(name => (
        <a
          key={name}
          href={href('jobs', null, { ...others, status: name })}
          aria-current={status === name ? 'page' : undefined}
        >
          <Status status={name} /> <span class="tab-count">{countText(counts?.[name])}</span>
        </a>
      ))}
    </nav>
  );
}

/** The sum of the counts. It is a lower bound if one of the counts is. */
function sumOf(counts: readonly StatusCount[]): StatusCount {
  return {
    total: counts.reduce((sum, { total }) => sum + total, 0),
    isLeast: counts.some(({ isLeast }) => isLeast),
  };
}

function countText(of: StatusCount | undefined): string {
  return of === undefined ? '' : `${count(of.total)}${of.isLeast ? '+' : ''}`;
}

function fromOverview(overview: Overview | undefined): StatusCounts | null {
  if (overview === undefined) return null;
  return Object.fromEntries(Object.entries(overview.counts).map(([name, total]) => [name, { total, isLeast: false }]));
}

/** The counts by status; null until they have arrived. They are fetched one after another, so that they do not crowd out other reads. */
function useFilteredCounts(query: string | null): StatusCounts | null {
  const [counts, setCounts] = useState<{ readonly of: string; readonly values: StatusCounts } | null>(null);
  const turn = Math.floor(now.value / countEveryMs);
  useEffect(() => {
    if (query === null || (isFrozen() && counts?.of === query)) return;
    const running = new AbortController();
    void countAll(query, running.signal).then(values => {
      if (values !== null && !running.signal.aborted) setCounts({ of: query, values });
    });
    return () => running.abort();
  }, [query, turn]);
  return counts !== null && counts.of === query ? counts.values : null;
}

async function countAll(query: string, signal: AbortSignal): Promise<StatusCounts | null> {
  const values: Record<string, StatusCount> = {};
  try {
    for (const status of allStatuses) {
      const path = `/jobs${query}&${new URLSearchParams({ status, limit: '1' })}`;
      const { total, total_at_least: isLeast = false } = await request<JobPage>('GET', path, undefined, signal);
      values[status] = { total, isLeast };
    }
    return values;
  } catch (error) {
    // The list shows why a filter is refused. Here, no counts are shown.
    if (signal.aborted || error instanceof Refusal) return null;
    throw error;
  }
}
