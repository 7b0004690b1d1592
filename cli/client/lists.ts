// The common part of commands that print lists: filters, pages and totals.
import { InvalidArgumentError, Option } from 'commander';
import type { TextOptions } from '../command.ts';
import { countUpTo, matching } from '../quantity.ts';

const statuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'dead', 'cancelled'] as const;
/** Other names of statuses, which the API and `--status` also accept. */
const aliases = ['pending', 'ok', 'error'];

export type Filters = TextOptions<'plugin' | 'command' | 'status' | 'cursor'> & { readonly limit?: number };

/** The members of each page besides its elements: the number of matches (with `total_at_least`: a minimum), and the cursor of the next page. */
export type Page = { readonly total: number; readonly total_at_least?: true; readonly next_cursor?: string };

export function filterOptions(): Option[] {
  return [
    new Option('--plugin <name>', 'only jobs of this plugin'),
    new Option('--command <name>', 'only jobs of this command'),
    new Option(
      '--status <status>',
      'only jobs with this status; pending, ok and error mean queued, succeeded and failed',
    )
      .choices(statuses)
      .argParser(parseStatus),
  ];
}

/** The option `--fingerprint`, which selects the jobs of a group of `headgate failures`. */
export function fingerprintOption(): Option {
  const form = matching(/^[0-9a-f]{16}$/, 'a fingerprint has 16 of 0-9 and a-f; "headgate failures" shows it.');
  return new Option('--fingerprint <fingerprint>', 'only jobs of this group of "headgate failures"').argParser(form);
}

function parseStatus(text: string): string {
  if ([...statuses, ...aliases].includes(text)) return text;
  throw new InvalidArgumentError(`expected one of ${[...statuses, ...aliases].join(', ')}.`);
}

export function pageOptions(): Option[] {
  return [
    new Option('--limit <count>', 'show at most this many').argParser(countUpTo(200)).default(50),
    new Option('--cursor <cursor>', 'continue where an earlier list ended'),
  ];
}

/** The note below a page: that nothing matches, or the total and how to see the next page. A non-empty last page has no note. */
export function moreLines(shown: number, page: Page): string[] {
  if (page.next_cursor === undefined) return shown === 0 ? ['nothing matches'] : [];
  const total = page.total_at_least ? `${page.total} or more` : page.total;
  return [`${shown} of ${total}; continue with --cursor ${page.next_cursor}`];
}
