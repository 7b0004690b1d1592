// From a path to the routes there: a tree of segments, literals before parameters.
import type { Method, Route } from './route.ts';

/** What is at a path: its routes by method. */
export type Place = {
  /** The pattern. */
  readonly path: string;
  readonly routes: { readonly [M in Method]?: Route };
  readonly allow: string;
};

export type Found = { readonly place: Place; readonly params: { readonly [name: string]: string } };
export type Match = Found | 'unknown' | 'malformed';

export type Router = { match(path: string): Match };

type Node = {
  readonly literals: Map<string, Node>;
  parameter: Node | null;
  names: readonly string[];
  place: Place | null;
};

const noParams: { readonly [name: string]: string } = Object.freeze({});

export function makeRouter(routes: readonly Route[]): Router {
  const root = emptyNode();
  for (const route of routes) add(root, route);
  const literal = new Map<string, Found>();
  for (const { path } of routes) {
    const found = path.includes('{') ? 'unknown' : search(root, path);
    if (typeof found === 'object') literal.set(path, found);
  }
  return { match: path => literal.get(path) ?? search(root, path) };
}

function emptyNode(): Node {
  return { literals: new Map(), parameter: null, names: [], place: null };
}

function add(root: Node, route: Route): void {
  const names: string[] = [];
  let node = root;
  for (const segment of route.path.slice(1).split('/')) {
    const isParameter = segment.startsWith('{');
    const next = (isParameter ? node.parameter : node.literals.get(segment)) ?? emptyNode();
    if (isParameter) {
      names.push(segment.slice(1, -1));
      node.parameter = next;
    } else node.literals.set(segment, next);
    node = next;
  }
  if (node.place?.routes[route.method]) throw new Error(`two routes for ${route.method} ${route.path}`);
  const routes = { ...node.place?.routes, [route.method]: route };
  const allow = [routes.GET ? 'GET, HEAD' : '', routes.POST ? 'POST' : ''].filter(Boolean).join(', ');
  node.names = names;
  node.place = { path: route.path, routes, allow };
}

function search(root: Node, path: string): Match {
  const values: string[] = [];
  // A segment that fits a literal never goes back to a parameter: no two routes here need it.
  let node: Node | null = root;
  for (let from = 1, slash = 0; slash >= 0; from = slash + 1) {
    slash = path.indexOf('/', from);
    const raw = path.slice(from, slash < 0 ? undefined : slash);
    const segment = raw.includes('%') ? decode(raw) : raw;
    if (segment === undefined || segment.includes('\0')) return 'malformed';
    if (node === null) continue;
    const next: Node | undefined = node.literals.get(segment);
    if (!next && segment !== '') values.push(segment);
    node = next ?? (segment === '' ? null : node.parameter);
  }
  if (!node?.place) return 'unknown';
  if (values.length === 0) return { place: node.place, params: noParams };
  const params: { [name: string]: string } = {};
  for (let i = 0; i < values.length; i++) params[node.names[i]!] = values[i]!;
  return { place: node.place, params };
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
