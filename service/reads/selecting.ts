// Finds the jobs to which an action applies. They are counted before the action begins, and then found page by page. The filter decides how:
// - It has words or a fingerprint that few logs have: the index names the jobs.
// - It has tags, but neither words nor a fingerprint, and names no job, run or tree: the index of tags names the jobs.
// - Otherwise the jobs themselves are examined.

import { taggedUpTo } from '../../actors/index/records/tags.ts';
import { textsOf } from '../../actors/index/records/texts.ts';
import { matchesTexts, type Phrase, parseQuery } from '../../actors/index/records/words.ts';
import { hasFingerprint, jobsOfFailure } from '../../actors/index/views/jobs-of-failure.ts';
import { jobsWithWords } from '../../actors/index/views/jobs-with-words.ts';
import { indexedBlocks, listedBlocks, startOfBlocks } from '../../actors/index/views/tagged-jobs.ts';
import type { Moment, Selection } from '../../actors/job/records/action.ts';
import { endOfBlocks } from '../../actors/job/records/list-indexes.ts';
import { NameTable } from '../../actors/job/records/name-table.ts';
import { indexesIn } from '../../actors/job/records/tree.ts';
import { entryFilter } from '../../actors/job/views/log-listing.ts';
import { countMatches, type MatchCount, nextMatches, type WordChecks } from '../../actors/job/views/matches.ts';
import { type JobSpan, spansOfIds } from '../../actors/job/views/oldest-first.ts';
import { keyAfter } from '../../runtime/bytes.ts';
import { type BlockKey, blockOf, type JobId } from '../../runtime/ids.ts';
import type { Sliced } from '../../runtime/slices.ts';
import { type IndexTable, IndexUnavailable, type Reader } from '../../runtime/store/store.ts';
import { candidatesMax } from './error-list.ts';

export type CountQuery = {
  readonly kind: 'count_matches';
  readonly id: number;
  readonly selection: Selection;
  readonly moment: Moment;
};
/** `searchedUs`: the time up to which logs were searched for words or a fingerprint, or jobs for tags; null if the filter has none of these. */
export type Counted = MatchCount & { readonly searchedUs: number | null };

export type PageQuery = {
  readonly kind: 'next_matches';
  readonly selection: Selection;
  readonly moment: Moment;
  readonly searchedUs: number | null;
  readonly after: JobId | null;
};
/** `ids`: job ids of 16 bytes each, in ascending order. `isEnd`: whether no further jobs match. */
export type MatchPage = { readonly ids: Uint8Array; readonly isEnd: boolean };

/** The maximum number of jobs in a page. */
const pageMax = 8_192;

export function openSelecting(reader: Reader, index: () => Reader<IndexTable>) {
  const names = new NameTable(reader);

  function* count({ selection, moment }: Pick<CountQuery, 'selection' | 'moment'>): Sliced<Counted> {
    const words = yield* candidates(selection, moment.commitUs);
    const spans = words ? spansOf(selection, words) : taggedSpans(selection, null);
    const counted = yield* countMatches({ reader, names, selection, moment, ...spans });
    // A search by tags is complete up to the moment of the count, because jobs that the index lacks are examined.
    const taggedUs = selection.tags === undefined ? null : moment.atUs;
    return { ...counted, searchedUs: words?.searchedUs ?? taggedUs };
  }

  function* next({ selection, moment, searchedUs, after }: PageQuery): Sliced<MatchPage> {
    const found = yield* candidates(selection, moment.commitUs);
    // If the index is being rebuilt, it may cover less than when the action began. Then all jobs are examined.
    const words = found && { searchedUs: searchedUs!, ids: found.searchedUs < searchedUs! ? null : found.ids };
    const spans = words ? spansOf(selection, words) : taggedSpans(selection, after);
    const options = { reader, names, selection, moment, ...spans };
    const { ids, isEnd } = yield* nextMatches({ ...options, after: after && Buffer.from(after) }, pageMax);
    return { ids: Buffer.concat(ids), isEnd };
  }

  /**
   * The jobs with the tags of the selection, as spans. `spans` is absent if the selection has no tags, or if it names a job, run or tree,
   * which selects fewer jobs than tags do.
   */
  function taggedSpans(selection: Selection, after: JobId | null): { readonly spans?: Iterable<JobSpan | null> } {
    const { tags = [], jobId, rerunOf, run, root, parent } = selection;
    if (tags.length === 0 || jobId || rerunOf || run || root || parent) return {};
    return { spans: spansWithTags(tags, after ? blockOf(Buffer.from(after)) : startOfBlocks) };
  }

  function* spansWithTags(tags: readonly string[], from: BlockKey): Iterable<JobSpan | null> {
    const opened = openIndex();
    const upTo = opened && taggedUpTo(opened);
    const indexedTo = upTo ? keyAfter(upTo) : startOfBlocks;
    for (const block of opened ? indexedBlocks(opened, tags, 'up', from, indexedTo) : [])
      yield block && { key: block.key, indexes: indexesIn(block.ranges!) };
    const listedFrom = Buffer.compare(from, indexedTo) < 0 ? indexedTo : from;
    for (const block of listedBlocks(reader, 'up', listedFrom, endOfBlocks))
      yield block && { key: block.key, indexes: null };
  }

  /** Finds the jobs whose logs may have the words or the fingerprint of the filter; null if the filter has neither. */
  function* candidates(selection: Selection, commitUs: number): Sliced<Candidates | null> {
    const { plugin, command, error, fingerprint } = selection;
    if (fingerprint !== undefined) {
      const opened = openIndex();
      const named = opened && (yield* jobsOfFailure(reader, opened, fingerprint, candidatesMax));
      return { ids: named && [...named].reverse(), searchedUs: commitUs };
    }
    const phrases = phrasesOf(selection);
    if (phrases.length === 0) return null;
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

/**
 * `ids`: the jobs that may have the words or the fingerprint, in ascending order; null if all jobs must be examined. `searchedUs`: the
 * commit up to which logs were searched.
 */
type Candidates = { readonly ids: readonly JobId[] | null; readonly searchedUs: number };

function spansOf(selection: Selection, found: Candidates) {
  const { ids, searchedUs } = found;
  return { words: wordChecks(selection, searchedUs), ...(ids && { spans: spansOfIds(ids) }) };
}

/**
 * The words of the filter. With `error`, they are the words that the error of an attempt must have. Otherwise they are the words of `query`, which
 * the log of an attempt must have.
 */
function phrasesOf({ error, query }: Selection): readonly Phrase[] {
  return error === null ? parseQuery(query ?? '') : parseQuery(error);
}

function wordChecks({ error, query, fingerprint }: Selection, searchedUs: number | null): WordChecks {
  const inError = parseQuery(error ?? '');
  const inLog = parseQuery(query ?? '');
  return {
    searchedUs,
    ...(fingerprint !== undefined && {
      failure: (attempt, owner) => hasFingerprint(fingerprint, attempt, owner),
    }),
    ...(inError.length > 0 && {
      error: attempt => {
        const text = attempt.text('error');
        return text !== null && matchesTexts(inError, [text]);
      },
    }),
    ...(inLog.length > 0 && { query: attempt => matchesTexts(inLog, textsOf(attempt.body)) }),
  };
}
