// Collects everything that is wrong with a part of the configuration, each with its path, so that all is said at once.

export type PathKey = string | number;

/** Something wrong. `at: 'key'` points at the key itself, as for an unknown one; else at its value. */
export type Problem = {
  readonly path: PathKey[];
  readonly message: string;
  readonly at?: 'key' | 'value';
};

/** A place in the configuration, and where its problems go. */
export type Place = { readonly path: readonly PathKey[]; readonly problems: Problem[] };

export function inside(place: Place, ...keys: readonly PathKey[]): Place {
  return { path: [...place.path, ...keys], problems: place.problems };
}

export function report(place: Place, message: string, at?: 'key' | 'value'): void {
  place.problems.push({ path: [...place.path], message, ...(at === undefined ? {} : { at }) });
}

export type PlainMap = { readonly [key: string]: unknown };

/** What a value is, in the words of a message: `the text "x"`, `a list`. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'a map';
  return String(value);
}

/** `"a", "b" or "c"`. */
export function alternatives(names: readonly string[]): string {
  const quoted = names.map(name => JSON.stringify(name));
  if (quoted.length < 2) return quoted.join('');
  return `${quoted.slice(0, -1).join(', ')} or ${quoted.at(-1)}`;
}
