// Searches the logs that are not yet in the index, by reading the journal. So a search also finds the newest logs.
import type { Sliced } from '../../../runtime/slices.ts';
import type { Reader } from '../../../runtime/store/store.ts';
import {
  AttemptReader,
  type EntryFilter,
  entriesOf,
  type JournalPosition,
  readUs,
  usKey,
} from '../../job/records/journal.ts';
import { textsOf } from '../records/texts.ts';
import { matchesTexts, type Phrase } from '../records/words.ts';

/** The maximum number of unindexed logs that a search reads, which takes a few tenths of a second. The index is rarely this far behind. */
export const unindexedLogsMax = 20_000;
/** When a search has read about this much text from unindexed logs, it reads no further logs. */
export const tailBytesMax = 64 * 2 ** 20;
/** The maximum number of commits that one scan reads. */
const commitsPerStep = 256;

/**
 * `places`: the positions of matching logs, newest first. `unsearched`: the number of unindexed logs that may match but were not
 * searched, because of `logsMax` or `tailBytesMax`.
 */
export type UnindexedMatches = { readonly places: readonly JournalPosition[]; readonly unsearched: number };

export function* searchUnindexed(
  ledger: Reader,
  from: JournalPosition,
  phrases: readonly Phrase[],
  wanted: EntryFilter,
  logsMax = unindexedLogsMax,
): Sliced<UnindexedMatches> {
  const places: JournalPosition[] = [];
  const attempts = new AttemptReader(ledger);
  let examined = 0;
  let lookedBytes = 0;
  let unsearched = 0;
  const fromUs = Math.max(from.atUs, wanted.fromUs);
  for (let toUs = wanted.toUs + 1; toUs > fromUs; ) {
    const range = { from: usKey(fromUs), to: usKey(toUs), reverse: true, limit: commitsPerStep };
    const commits = Array.from(ledger.scan('journal', range), ({ key, value }) => [readUs(key), value] as const);
    for (const [atUs, value] of commits) {
      for (const entry of entriesOf(atUs, value).reverse()) {
        if (atUs === from.atUs && entry.place < from.place) continue;
        if (!entry.mayHaveText || !entry.matches(wanted)) continue;
        if (examined === logsMax || lookedBytes >= tailBytesMax) {
          unsearched++;
          continue;
        }
        examined++;
        const body = attempts.findBody(entry);
        if (!body) continue;
        const texts = textsOf(body);
        for (const { length } of texts) lookedBytes += length;
        if (matchesTexts(phrases, texts)) places.push({ atUs, place: entry.place });
        yield;
      }
    }
    if (commits.length < commitsPerStep) break;
    toUs = commits.at(-1)![0];
    yield;
  }
  return { places, unsearched };
}
