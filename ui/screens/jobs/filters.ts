// The filters of the list of jobs, as they are in the URL, in requests, and in the `where` of actions.

import { clock, day } from '../../core/format.ts';

/** The filters by name, as `GET /jobs` calls them. */
export const filterNames = [
  'plugin',
  'command',
  'status',
  'pipeline',
  'tag',
  'error',
  'fingerprint',
  'from',
  'to',
  'run',
  'root',
  'parent',
  'rerun_of',
] as const;
export type FilterName = (typeof filterNames)[number];
export type JobFilters = { readonly [N in FilterName]?: string };

export function filtersOf(query: URLSearchParams): JobFilters {
  return Object.fromEntries(filterNames.flatMap(name => (query.get(name) ? [[name, query.get(name)!]] : [])));
}

export function withoutFilters(): Readonly<Record<string, undefined>> {
  return Object.fromEntries(filterNames.map(name => [name, undefined]));
}

/** The `where` of `POST /actions` that matches the same jobs; `children`: also those inside runs. */
export function whereOf(filters: JobFilters, children: boolean): Record<string, unknown> {
  const { from, to, ...same } = filters;
  const where: Record<string, unknown> = {
    ...same,
    ...(from !== undefined && { created_from: from }),
    ...(to !== undefined && { created_to: to }),
  };
  if (Object.keys(where).length === 0) where['all'] = true;
  if (children || filters.run !== undefined) where['children'] = true;
  return where;
}

/** The value of a filter as its chip shows it: times are in the time zone of the browser. */
export function chipText(name: FilterName, value: string): string {
  const date = name === 'from' || name === 'to' ? new Date(value) : null;
  return date === null || Number.isNaN(date.getTime()) ? value : `${day(date)} ${clock(date)}`;
}

/** The filters in words, such as `status failed, plugin mailer`. */
export function filterText(filters: JobFilters): string {
  const given = filterNames.flatMap(name => (filters[name] === undefined ? [] : [[name, filters[name]] as const]));
  return given.length === 0
    ? 'all jobs'
    : given.map(([name, value]) => `${name.replaceAll('_', ' ')} ${chipText(name, value)}`).join(', ');
}
