// What the lists of jobs and of logs have in common: filters, pages, and how much there is.
import { InvalidArgumentError, Option } from 'commander';

export const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead'] as const;

export type Filters = {
  readonly plugin?: string;
  readonly command?: string;
  readonly status?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

export function filterOptions(): Option[] {
  return [
    new Option('--plugin <name>', 'only of this plugin'),
    new Option('--command <name>', 'only of this command'),
    new Option('--status <status>', 'only with this status').choices(statuses),
  ];
}

export function pageOptions(): Option[] {
  return [
    new Option('--limit <count>', 'at most so many').argParser(parseLimit).default(50),
    new Option('--cursor <cursor>', 'go on where an earlier list has ended'),
  ];
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!/^\d+$/.test(text) || limit < 1 || limit > 200) throw new InvalidArgumentError('from 1 to 200.');
  return limit;
}

/** Said beside a list that is not all. */
export function moreLines(shown: number, page: { readonly total: number; readonly next_cursor?: string }): string[] {
  if (page.next_cursor === undefined) return shown === 0 ? ['nothing matches'] : [];
  return [`${shown} of ${page.total}; go on with --cursor ${page.next_cursor}`];
}
