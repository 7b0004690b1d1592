// The facets of a log are its command, its status, its submitter and whether its job never started, as words of the index. A
// facet begins with a character that never occurs in the words of texts.
import type { EntryFilter, JournalEntry } from '../../job/records/journal.ts';

const marks = { command: '\0c', status: '\0s', submitter: '\0u' } as const;

/** The facet of jobs that were cancelled before their first attempt. */
export const neverStartedFacet = '\0n';

/** Computes the facets of logs. The last result is kept: neighbouring logs often have the same facets. */
export class Facets {
  #command = -1;
  #status = -1;
  #submitter = -1;
  #last: readonly string[] = [];

  of({ commandNumber, statusCode, submitterNumber, isNeverStarted }: JournalEntry): readonly string[] {
    if (commandNumber !== this.#command || statusCode !== this.#status || submitterNumber !== this.#submitter) {
      this.#command = commandNumber;
      this.#status = statusCode;
      this.#submitter = submitterNumber;
      this.#last = [marks.command + commandNumber, marks.status + statusCode, marks.submitter + submitterNumber];
    }
    return isNeverStarted ? [...this.#last, neverStartedFacet] : this.#last;
  }
}

export function statusFacets(codes: readonly number[]): readonly string[] {
  return codes.map(code => marks.status + code);
}

/** The facets that the filter asks for. A log in the filter's time range matches if it has at least one facet of each list. */
export function wantedFacets({ commands, status, submitter }: EntryFilter): readonly (readonly string[])[] {
  const wanted: string[][] = [];
  if (commands) wanted.push([...commands.keys()].filter(n => commands[n] === 1).map(n => marks.command + n));
  if (status >= 0) wanted.push([marks.status + status]);
  if (submitter >= 0) wanted.push([marks.submitter + submitter]);
  return wanted;
}
