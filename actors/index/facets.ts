// What logs are filtered by, as words of the index: each begins with a character that no word of a text has.
import type { EntryFilter, JournalEntry } from '../job/journal.ts';

type Facet = 'command' | 'status' | 'submitter';

const marks = { command: '\0c', status: '\0s', submitter: '\0u' } as const satisfies Record<Facet, string>;

/** Under which a log stands. */
export function facetsOf(entry: JournalEntry): readonly string[] {
  return [
    marks.command + entry.commandNumber,
    marks.status + entry.statusCode,
    marks.submitter + entry.submitterNumber,
  ];
}

/** Of each list a log must stand under one. */
export function wantedFacets({ commands, status, submitter }: EntryFilter): readonly (readonly string[])[] {
  const wanted: string[][] = [];
  if (commands) wanted.push([...commands.keys()].filter(n => commands[n] === 1).map(n => marks.command + n));
  if (status >= 0) wanted.push([marks.status + status]);
  if (submitter >= 0) wanted.push([marks.submitter + submitter]);
  return wanted;
}
