// Finds the routes of a path by its parts between slashes. A literal part takes precedence over a parameter.
import { decoded } from './query.ts';
import type { Method, Route } from './route.ts';

const methods: readonly Method[] = ['GET', 'POST', 'DELETE'];

export type RoutesAtPath = {
  /** The path, with parameters in braces. */
  readonly path: string;
  readonly routes: { readonly [M in Method]?: Route };
  readonly allow: string;
};

export type RouteMatch = { readonly place: RoutesAtPath; readonly params: { readonly [name: string]: string } };
export type Match = RouteMatch | 'unknown' | 'malformed';

export type PathRouter = { match(path: string): Match };

type PathNode = {
  readonly literals: Map<string, PathNode>;
  parameter: PathNode | null;
  names: readonly string[];
  place: RoutesAtPath | null;
};

const noParams: { readonly [name: string]: string } = Object.freeze({});

export function makeRouter(routes: readonly Route[]): PathRouter {
  const root = emptyNode();
  for (const route of routes) add(root, route);
  return { match: path => search(root, path) };
}

function emptyNode(): PathNode {
  return { literals: new Map(), parameter: null, names: [], place: null };
}

function add(root: PathNode, route: Route): void {
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
  if (node.place && node.names.join() !== names.join())
    throw new Error(`${route.path} and ${node.place.path} are one path`);
  const routes = { ...node.place?.routes, [route.method]: route };
  const allow = methods.filter(method => routes[method]).map(method => (method === 'GET' ? 'GET, HEAD' : method));
  node.names = names;
  node.place = { path: route.path, routes, allow: allow.join(', ') };
}

function search(root: PathNode, path: string): Match {
  const values: string[] = [];
  // The search does not backtrack: a part of the path that matches a literal is never tried as a parameter. No route needs backtracking.
  let node: PathNode | null = root;
  for (let from = 1, slash = 0; slash >= 0; from = slash + 1) {
    slash = path.indexOf('/', from);
    const raw = path.slice(from, slash < 0 ? undefined : slash);
    const segment = raw.includes('%') ? decoded(raw) : raw;
    if (segment === undefined || segment.includes('\0')) return 'malformed';
    if (node === null) continue;
    const next: PathNode | undefined = node.literals.get(segment);
    if (!next && segment !== '') values.push(segment);
    node = next ?? (segment === '' ? null : node.parameter);
  }
  if (!node?.place) return 'unknown';
  if (values.length === 0) return { place: node.place, params: noParams };
  const params: { [name: string]: string } = {};
  for (let i = 0; i < values.length; i++) params[node.names[i]!] = values[i]!;
  return { place: node.place, params };
}
