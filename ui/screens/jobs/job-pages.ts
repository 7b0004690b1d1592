// The pages of the list: the first is live; further ones are fetched when the user asks for them.
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { request } from '../../core/api.ts';
import { type Resource, useResource } from '../../core/resource.ts';
import { queryText } from '../../core/router.ts';
import type { JobFilters } from './filters.ts';
import type { JobPage, JobRow } from './job-row.ts';

export const pageRows = 100;
/** The number of rows of a later page, which is the maximum of the API. */
const laterPageRows = 200;

export type JobPages = {
  readonly first: Resource<JobPage>;
  readonly rows: readonly JobRow[];
  /** Null: the list is complete. */
  readonly more: (() => void) | null;
  readonly isLoading: boolean;
  /** Whether the last attempt to get more rows was refused. */
  readonly hasFailed: boolean;
  /** Shows only the first page again, which is live. Null: no later page is shown. */
  readonly newest: (() => void) | null;
};

/** The rows of the first and the later pages for the path `of`, which has the filters. While they are shown, the list is not updated. */
type LaterPages = { readonly of: string; readonly rows: readonly JobRow[]; readonly cursor: string | undefined };

export function useJobPages(filters: JobFilters): JobPages {
  const path = `/jobs${queryText({ ...filters, limit: String(pageRows) })}`;
  const [later, setLater] = useState<LaterPages | null>(null);
  const [isLoading, setLoading] = useState(false);
  const [hasFailed, setFailed] = useState(false);
  /** The path of the page that was requested last. `more` may be called again before its rows have arrived, and must not request it again. */
  const asked = useRef<string | null>(null);
  const hasLater = later !== null && later.of === path;
  const first = useResource<JobPage>(path, hasLater ? {} : { live: ['job.*'] });
  useEffect(() => {
    asked.current = null;
    setLater(null);
    setFailed(false);
  }, [path]);

  const rows = hasLater ? later.rows : (first.data?.jobs ?? []);
  // While the first page still belongs to other filters, its cursor cannot be used with these.
  const firstCursor = first.of === path ? first.data?.next_cursor : undefined;
  const cursor = hasLater ? later.cursor : firstCursor;
  const more = async () => {
    const laterPath = `/jobs${queryText({ ...filters, limit: String(laterPageRows), cursor })}`;
    if (asked.current === laterPath) return;
    asked.current = laterPath;
    setLoading(true);
    const done = await act('Load more jobs', async () => {
      const page = await request<JobPage>('GET', laterPath);
      setLater({ of: path, rows: [...rows, ...page.jobs], cursor: page.next_cursor });
      return null;
    });
    if (!done) asked.current = null;
    setFailed(!done);
    setLoading(false);
  };
  return {
    first,
    rows,
    more: cursor === undefined ? null : () => void more(),
    isLoading,
    hasFailed,
    newest: hasLater
      ? () => {
          asked.current = null;
          setLater(null);
          first.reload();
        }
      : null,
  };
}
