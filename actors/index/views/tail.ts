// The logs that the index has not taken yet: read from the journal itself, so that what is listed is found at once.
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
import type { Position } from '../records/position.ts';
import { textsOf } from '../records/texts.ts';
import { matchesTexts, type Phrase } from '../records/words.ts';

/** Logs of the tail whose words are looked at: some tenths of a second of work. The index is rarely so far behind. */
export const tailLogsMax = 20_000;
/** Texts of them that are looked at: of larger logs there are fewer. */
export const tailBytesMax = 64 * 2 ** 20;
/** Commits that are read in one go. */
const commitsPerStep = 256;

/** Newest first. `unsearched`: logs that the index has yet to take, and that were too many to look at. */
export type TailFound = { readonly places: readonly JournalPosition[]; readonly unsearched: number };

export function* searchTail(
  ledger: Reader,
  from: Position,
  phrases: readonly Phrase[],
  wanted: EntryFilter,
  logsMax = tailLogsMax,
): Sliced<TailFound> {
  const places: JournalPosition[] = [];
  const attempts = new AttemptReader(ledger);
  let looked = 0;
  let lookedBytes = 0;
  let unsearched = 0;
  const fromUs = Math.max(from.atUs, wanted.fromUs);
  for (let toUs = wanted.toUs + 1; toUs > fromUs; ) {
    const range = { from: usKey(fromUs), to: usKey(toUs), reverse: true, limit: commitsPerStep };
    const commits = Array.from(ledger.scan('journal', range), ({ key, value }) => [readUs(key), value] as const);
    for (const [atUs, value] of commits) {
      for (const entry of entriesOf(atUs, value).reverse()) {
        if (atUs === from.atUs && entry.place < from.place) continue;
        if (!entry.telling || !entry.matches(wanted)) continue;
        if (looked === logsMax || lookedBytes >= tailBytesMax) {
          unsearched++;
          continue;
        }
        looked++;
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
