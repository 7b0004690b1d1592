// The running and queueing times of plugins in the last minutes, from the pages of the stopwatch.
import type { Sliced } from '../../../runtime/slices.ts';
import type { IndexTable, Reader } from '../../../runtime/store/store.ts';
import { Histogram } from '../records/histogram.ts';
import { pageKey, readPage } from '../records/stopwatch.ts';
import type { Window } from './stopwatch.ts';

/** The times of all commands of a plugin, or of several plugins. */
export type RecentTimes = { readonly run: Histogram; readonly queue: Histogram };

/** `plugins`: the times by plugin, excluding plugins without a page in the window. `all`: the times of all these plugins. */
export type TimesOfPlugins = { readonly all: RecentTimes; readonly plugins: ReadonlyMap<string, RecentTimes> };

export function* recentTimes(
  reader: Reader<IndexTable>,
  plugins: readonly string[],
  { from, to }: Window,
): Sliced<TimesOfPlugins> {
  const all = noTimes();
  const found = new Map<string, RecentTimes>();
  for (const plugin of plugins) {
    for (let minute = from; minute <= to; minute++) {
      const bytes = reader.get('stopwatch', pageKey(minute, plugin));
      if (!bytes) continue;
      const own = found.get(plugin) ?? noTimes();
      found.set(plugin, own);
      readPage(bytes, (step, times) => {
        const what = whatOf(step);
        if (what === null) return;
        own[what].merge(times);
        all[what].merge(times);
      });
      yield;
    }
  }
  return { all, plugins: found };
}

function noTimes(): RecentTimes {
  return { run: new Histogram(), queue: new Histogram() };
}

/** The kind of time that the step of a page measures. Null: another time of a command, or a pipeline step, which has a slash in its name. */
function whatOf(step: string): keyof RecentTimes | null {
  if (step.includes('/')) return null;
  if (step.endsWith('.run')) return 'run';
  return step.endsWith('.queue') ? 'queue' : null;
}
