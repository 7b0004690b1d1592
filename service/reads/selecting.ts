// The jobs that an action takes: counted before it begins, then found page by page. If few logs have the words of the filter, the search
// index gives the jobs; otherwise the jobs themselves are read.
import { textsOf } from '../../actors/index/records/texts.ts';
import { matchesTexts, type Phrase, parseQuery } from '../../actors/index/records/words.ts';
import { jobsWithWords } from '../../actors/index/views/jobs-with-words.ts';
import type { Moment, Selection } from '../../actors/job/records/action.ts';
import { NameTable } from '../../actors/job/records/name-table.ts';
import { entryFilter } from '../../actors/job/views/log-listing.ts';
import { countMatches, type MatchCount, nextMatches, type WordChecks } from '../../actors/job/views/matches.ts';
import { spansOfIds } from '../../actors/job/views/oldest-first.ts';
import type { JobId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import { type IndexTable, IndexUnavailable, type Reader } from '../../runtime/store/store.ts';
import { candidatesMax } from './error-list.ts';

/** `searchedUs`: null where nothing is searched. */
export type CountWanted = { readonly kind: 'count_matches'; readonly selection: Selection; readonly moment: Moment };
export type Counted = MatchCount & { readonly searchedUs: number | null };

export type PageWanted = {
  readonly kind: 'next_matches';
  readonly selection: Selection;
  readonly moment: Moment;
  readonly searchedUs: number | null;
  readonly after: JobId | null;
};
/** `ids`: 16 bytes each, in ascending order. */
export type MatchPage = { readonly ids: Uint8Array; readonly isEnd: boolean };

/** Jobs in one page. */
const pageMax = 8_192;

export type Selecting = {
  count(wanted: CountWanted): Sliced<Counted>;
  next(wanted: PageWanted): Sliced<MatchPage>;
};

export function openSelecting(reader: Reader, index: () => Reader<IndexTable>): Selecting {
  const names = new NameTable(reader);

  function* count({ selection, moment }: CountWanted): Sliced<Counted> {
    const words = yield* candidates(selection, moment.commitUs);
    const counted = yield* countMatches({ reader, names, selection, moment, ...spansOf(selection, words) });
    return { ...counted, searchedUs: words?.searchedUs ?? null };
  }

  function* next({ selection, moment, searchedUs, after }: PageWanted): Sliced<MatchPage> {
    const found = yield* candidates(selection, moment.commitUs);
    // The index may have been rebuilt meanwhile, and then covers less than when the action began.
    const words = found && { searchedUs: searchedUs!, ids: found.searchedUs < searchedUs! ? null : found.ids };
    const options = { reader, names, selection, moment, ...spansOf(selection, words) };
    const { ids, isEnd } = yield* nextMatches({ ...options, after: after && Buffer.from(after) }, pageMax);
    return { ids: Buffer.concat(ids), isEnd };
  }

  /** Null: nothing is searched. */
  function* candidates(selection: Selection, commitUs: number): Sliced<Candidates | null> {
    const phrases = phrasesOf(selection);
    if (phrases.length === 0) return null;
    const { plugin, command, error } = selection;
    const filter = { plugin, command, status: null, submittedBy: null, fromUs: null, toUs: null };
    const entries = entryFilter(names, filter);
    if (entries === null) return { ids: [], searchedUs: commitUs };
    const opened = openIndex();
    const found = opened && (yield* jobsWithWords(reader, opened, entries, phrases, candidatesMax, error === null));
    if (!found) return { ids: null, searchedUs: commitUs };
    return { ids: [...found.ids].reverse(), searchedUs: Math.min(commitUs, found.searchedUs ?? 0) };
  }

  function openIndex(): Reader<IndexTable> | null {
    try {
      return index();
    } catch (error) {
      if (error instanceof IndexUnavailable) return null;
      throw error;
    }
  }

  return { count, next };
}

/** `ids`: the jobs that may have the words, in ascending order; null: all jobs must be examined. */
type Candidates = { readonly ids: readonly JobId[] | null; readonly searchedUs: number };

function spansOf(selection: Selection, found: Candidates | null) {
  if (!found) return {};
  const { ids, searchedUs } = found;
  return { words: wordChecks(selection, searchedUs), ...(ids && { spans: spansOfIds(ids) }) };
}

/** The words that the log of an attempt must have. */
function phrasesOf({ error, query }: Selection): readonly Phrase[] {
  return error === null ? parseQuery(query ?? '') : parseQuery(error);
}

function wordChecks({ error, query }: Selection, searchedUs: number | null): WordChecks {
  const inError = parseQuery(error ?? '');
  const inLog = parseQuery(query ?? '');
  return {
    searchedUs,
    ...(inError.length > 0 && {
      error: attempt => {
        const text = attempt.text('error');
        return text !== null && matchesTexts(inError, [text]);
      },
    }),
    ...(inLog.length > 0 && { query: attempt => matchesTexts(inLog, textsOf(attempt.body)) }),
  };
}
