// The place in the dashboard. It is in the fragment of the URL, with all filters: `#/jobs?status=failed`, `#/job/ID`.
import { signal } from '@preact/signals';

export type Place = { readonly screen: string; readonly id: string | null; readonly query: URLSearchParams };
/** Parameters of a URL; those that are undefined or empty are left out. */
export type PlaceQuery = Readonly<Record<string, string | undefined>>;

export const place = signal<Place>(placeOf(location.hash));

addEventListener('hashchange', () => {
  place.value = placeOf(location.hash);
});

function placeOf(hash: string): Place {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [screen, ...id] = path.split('/');
  return {
    screen: screen && !screen.includes('=') ? screen : 'now',
    id: decode(id.join('/')) || null,
    query: new URLSearchParams(query),
  };
}

/** URLs are typed by people too: an invalid escape sequence stands for itself. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function href(screen: string, id?: string | null, query: PlaceQuery = {}): string {
  const path = id === undefined || id === null ? screen : `${screen}/${encodeURIComponent(id)}`;
  return `#/${path}${queryText(query)}`;
}

/** `?` and the parameters; empty if there are none. Also for paths of the API. */
export function queryText(query: PlaceQuery): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]));
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}

export function go(to: string): void {
  location.hash = to;
}

/** Changes parameters of this place without a new entry in the history; undefined removes one. */
export function setQuery(changes: PlaceQuery): void {
  const { screen, id, query } = place.peek();
  const next = href(screen, id, { ...Object.fromEntries(query), ...changes });
  if (next === location.hash) return;
  history.replaceState(history.state, '', next);
  place.value = placeOf(next);
}
