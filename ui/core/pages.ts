// A list of several pages. While only the first page is shown, it is updated after events. Further pages are added below; while they are shown,
// the list is not updated, so that its rows do not move.
import { useEffect, useRef, useState } from 'preact/hooks';
import { Refusal, request } from './api.ts';
import { type Resource, useResource } from './resource.ts';

type PagedAnswer = { readonly next_cursor?: string };
/** The further pages, and the first page as it was when the second one was requested. A newer first page would move the rows. */
type Further<Answer> = { readonly path: string; readonly first: Answer; readonly pages: readonly Answer[] };

export type Pages<Answer> = Omit<Resource<Answer>, 'data' | 'of'> & {
  /** The first page; undefined until it has arrived. */
  readonly first: Answer | undefined;
  readonly pages: readonly Answer[];
  /** Gets the next page; null: there is none. */
  readonly more: (() => void) | null;
  readonly loadingMore: boolean;
};

/** Fetches the pages of a list. `path` has all filters; another path begins again with its first page. */
export function usePages<Answer extends PagedAnswer>(
  path: string,
  live: { readonly live?: readonly string[]; readonly everyMs?: number } = {},
): Pages<Answer> {
  const [further, setFurther] = useState<Further<Answer> | null>(null);
  const [problem, setProblem] = useState<Refusal | undefined>();
  const [loadingMore, setLoadingMore] = useState(false);
  /** How often the list has begun again from its first page. A page that was requested before the latest beginning is dropped. */
  const beginnings = useRef(0);
  const own = further?.path === path ? further : null;
  const { data, of, error, loading, reload } = useResource<Answer>(path, own === null ? live : {});
  useEffect(() => {
    setFurther(null);
    setProblem(undefined);
  }, [path]);
  const first = own === null ? data : own.first;
  const pages = first === undefined ? [] : [first, ...(own?.pages ?? [])];
  // While `data` still belongs to other filters, its cursor cannot be used with these.
  const cursor = of === path ? pages.at(-1)?.next_cursor : undefined;
  const more = async (): Promise<void> => {
    setLoadingMore(true);
    setProblem(undefined);
    const begun = beginnings.current;
    try {
      const joint = path.includes('?') ? '&' : '?';
      const page = await request<Answer>('GET', `${path}${joint}cursor=${encodeURIComponent(cursor!)}`);
      if (begun === beginnings.current) setFurther({ path, first: first!, pages: [...(own?.pages ?? []), page] });
    } catch (failure) {
      if (!(failure instanceof Refusal)) throw failure;
      setProblem(failure);
    } finally {
      setLoadingMore(false);
    }
  };
  const start = (): void => {
    beginnings.current++;
    setFurther(null);
    reload();
  };
  return {
    first,
    pages,
    error: problem ?? error,
    loading,
    loadingMore,
    more: cursor === undefined ? null : () => void more(),
    reload: start,
  };
}
