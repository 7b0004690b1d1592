// The metrics of the service. A scrape reads shared memory, the stores, and the newest reports of the ledger, and asks no other thread.

import { failuresName } from '../../actors/index/records/failures.ts';
import { positionOf } from '../../actors/index/records/position.ts';
import { searchName } from '../../actors/index/records/search-layout.ts';
import { stopwatchName } from '../../actors/index/records/stopwatch.ts';
import { makeTotalsReader, type StoredTotal } from '../../actors/index/views/totals.ts';
import type { Gauges } from '../../actors/job/gauges.ts';
import { type CommandCounts, readCount } from '../../actors/job/records/counts.ts';
import { isHosted, pipelinePlugin } from '../../actors/job/records/job.ts';
import { readUs, usKey } from '../../actors/job/records/journal.ts';
import { listPauses } from '../../actors/job/views/pauses.ts';
import type { Config } from '../../config/config.ts';
import type { LoopDelay } from '../../runtime/loop-delay.ts';
import { type Sliced, Slices } from '../../runtime/slices.ts';
import { formatVersion } from '../../runtime/store/format.ts';
import { IndexReaders } from '../../runtime/store/index-readers.ts';
import { KeptRecords } from '../../runtime/store/kept-records.ts';
import type { Reader } from '../../runtime/store/store.ts';
import { storeIdIn } from '../../runtime/store/store-id.ts';
import type { Backups } from '../backup/backups.ts';
import type { IndexCondition } from '../indexer/thread.ts';
import type { CommitMeter } from '../ledger/commit-meter.ts';
import { Semaphore } from '../reads/semaphore.ts';
import { singleFlight } from '../single-flight.ts';
import { DiskMeter, loopDelayMs, processFamilies } from './environment.ts';
import { type MetricsFormat, MetricsWriter } from './exposition.ts';
import { type MetricFamily, SeriesRoom, single } from './family.ts';
import { countFamilies, timeFamilies } from './job-families.ts';
import { commitFamilies, gaugeFamilies, reportFamilies } from './ledger-families.ts';
import type { LedgerReports } from './ledger-reports.ts';
import { RequestMeter } from './request-meter.ts';
import { type ScheduleFigures, scheduleFamilies, scheduleFigures } from './schedule-families.ts';

export type MetricsOptions = {
  readonly config: () => Config;
  readonly reader: Reader;
  readonly backups: Pick<Backups, 'condition' | 'outcomes'>;
  readonly gauges: Gauges;
  readonly commits: CommitMeter;
  readonly reports: LedgerReports;
  readonly index: () => IndexCondition;
  /** The delays of the event loops by thread, excluding the main thread. */
  readonly loopDelays: { readonly [thread: string]: LoopDelay };
  readonly areReadsUp: () => boolean;
  /** The number of open event streams, and how many gaps were sent to readers, by reason. */
  readonly streams: () => { readonly count: number; readonly gaps: ReadonlyMap<string, number> };
  /** The number of reloads by outcome. */
  readonly reloads: ReadonlyMap<string, number>;
  readonly startedAtMs: number;
  readonly version: string;
};

/** The histograms of the index, and how far its search, stopwatch and failures are behind the ledger. Null: the index cannot be read. */
type IndexReading = { readonly totals: readonly StoredTotal[]; readonly lagUs: number } | null;

/** The maximum number of commands whose counters stay decoded (1 to 3 KB each). With more commands, none stay decoded. */
const countersKeptMax = 512;

export type Metrics = ReturnType<typeof openMetrics>;

export function openMetrics(options: MetricsOptions) {
  const { config, reader, gauges, reports } = options;
  const requests = new RequestMeter();
  const room = new SeriesRoom();
  const disk = new DiskMeter(config().state.path);
  const indexes = new IndexReaders(config().state.path);
  const readTotals = makeTotalsReader();
  const counters = new KeptRecords('counters', countersKeptMax, (key, value) => readCount(key, value));
  const writer = new MetricsWriter();
  const slices = new Slices(() => reader.refresh());
  /** One scrape at a time passes `room`, so that scrapes pass it in the order in which they were read. */
  const limiting = new Semaphore(1);
  const readSchedules = singleFlight(() => slices.share().run(scheduleFigures(reader, config().schedules)));

  function readIndex(): IndexReading {
    let totals: readonly StoredTotal[];
    let atUs: number;
    try {
      indexes.closeGone();
      const index = indexes.current();
      index.refresh();
      totals = readTotals(index);
      atUs = Math.min(...[searchName, stopwatchName, failuresName].map(name => positionOf(index, name).atUs));
    } catch {
      // The index cannot be opened, or has an unusable record or page. The other families do not need it.
      return null;
    }
    return { totals, lagUs: lagUs(atUs) };
  }

  /** The time since the end of the first attempt that ended at `atUs` or later; 0 if no such attempt is stored. */
  function lagUs(atUs: number): number {
    // If the index has taken all entries of the journal, its position is after the newest entry.
    if (atUs > gauges.get('journaled')) return 0;
    for (const key of reader.keys('journal', { from: usKey(atUs), limit: 1 })) {
      return Math.max(0, Date.now() * 1000 - readUs(key));
    }
    return 0;
  }

  function* families(
    index: IndexReading,
    schedules: ScheduleFigures,
    mainDelayMs: number,
    nowMs: number,
  ): Iterable<MetricFamily> {
    const { plugins, pipelines } = config();
    const names = { plugins, pipelines: new Set(pipelines.map(({ name }) => name)) };
    yield* ownFamilies(options);
    yield* sourceFamilies(index, mainDelayMs);
    yield* countFamilies(withFirst(counters.read(reader), each => isCommandConfigured(each, names)));
    yield* gaugeFamilies(gauges);
    yield* reportFamilies(reports, nowMs);
    yield* scheduleFamilies(schedules, listPauses(reader));
    yield* requests.families();
    yield* commitFamilies(options.commits);
    yield* disk.families();
    yield* processFamilies();
    // These histograms need the most series. They come last, so the other families get their series first.
    if (index) yield* timeFamilies(withFirst(index.totals, each => isTotalConfigured(each, names)));
  }

  function* limit(all: readonly MetricFamily[]): Sliced<readonly MetricFamily[]> {
    const { seriesMax } = config().metrics;
    const limited: MetricFamily[] = [];
    for (const family of all) limited.push(yield* room.limit(family, seriesMax));
    return limited;
  }

  function sourceFamilies(index: IndexReading, mainDelayMs: number): readonly MetricFamily[] {
    const diskAgeMs = disk.ageMs;
    const isIndexed = index !== null && options.index().kind === 'open';
    const parts = { ledger: reports.isUp, reads: options.areReadsUp(), indexer: isIndexed };
    return [
      {
        name: 'headgate_up',
        type: 'gauge',
        help: '1: the part works. 0 of the ledger: it is silent, restarts its actors, or its disk is full.',
        samples: Object.entries(parts).map(([part, isUp]) => ({ labels: { part }, value: isUp ? 1 : 0 })),
      },
      {
        name: 'headgate_source_age_seconds',
        type: 'gauge',
        help: 'How old the figures are: reports of the ledger, sizes on the disk, durations in the index.',
        samples: [
          { labels: { source: 'ledger' }, value: reports.ageMs / 1000 },
          ...(diskAgeMs === null ? [] : [{ labels: { source: 'disk' }, value: diskAgeMs / 1000 }]),
          ...(index ? [{ labels: { source: 'index' }, value: index.lagUs / 1e6 }] : []),
        ],
      },
      {
        name: 'headgate_index_lag_seconds',
        type: 'gauge',
        help: 'How long ago the oldest attempt that the index lacks ended; 0: the index is complete.',
        samples: index ? single(index.lagUs / 1e6) : [],
      },
      {
        name: 'headgate_event_loop_delay_seconds',
        type: 'gauge',
        help: 'How late the event loop of the thread was the last time that it was measured, or has been since.',
        samples: [
          { labels: { thread: 'main' }, value: mainDelayMs / 1000 },
          ...Object.entries(options.loopDelays).flatMap(([thread, { ms }]) =>
            ms === null ? [] : [{ labels: { thread }, value: ms / 1000 }],
          ),
        ],
      },
    ];
  }

  return {
    requests,
    /** The metrics as text. Waits for no other thread, and only briefly for the disk. */
    async text(format: MetricsFormat): Promise<Uint8Array> {
      const [mainDelayMs] = await Promise.all([loopDelayMs(), disk.refresh()]);
      const schedules = await readSchedules();
      reader.refresh();
      const all = [...families(readIndex(), schedules, mainDelayMs, Date.now())];
      const limited = await limiting.run(() => slices.share().run(limit(all)));
      return writer.write(limited, format);
    },
  };
}

type ConfiguredNames = { readonly plugins: Config['plugins']; readonly pipelines: ReadonlySet<string> };

/** Whether the configuration has the plugin or pipeline. Actions count as configured. */
function isCommandConfigured({ plugin, command }: CommandCounts, { plugins, pipelines }: ConfiguredNames): boolean {
  return plugin === pipelinePlugin ? pipelines.has(command) : Object.hasOwn(plugins, plugin) || !isHosted(plugin);
}

function isTotalConfigured({ kind, names: [name] }: StoredTotal, { plugins, pipelines }: ConfiguredNames): boolean {
  return kind === 'command' ? Object.hasOwn(plugins, name!) : pipelines.has(name!);
}

/** The items in the same order, except that those for which `isFirst` is true come first. */
function withFirst<T>(items: readonly T[], isFirst: (item: T) => boolean): T[] {
  return [...items.filter(isFirst), ...items.filter(item => !isFirst(item))];
}

/** The families for the version, the startup time, reloads, backups and event streams. */
function ownFamilies({
  version,
  reader,
  backups,
  startedAtMs,
  reloads,
  streams,
}: MetricsOptions): readonly MetricFamily[] {
  const { count, gaps } = streams();
  const node = process.versions.node;
  const build = { version, node, format: String(formatVersion), store: storeIdIn(reader) ?? '' };
  return [
    {
      name: 'headgate_build_info',
      type: 'gauge',
      help: 'Always 1; the labels are the version of headgate, the version of Node, the format of the state and the id of the store.',
      samples: [{ labels: build, value: 1 }],
    },
    {
      name: 'headgate_start_time_seconds',
      type: 'gauge',
      help: 'When the service started, in seconds since the epoch.',
      samples: single(startedAtMs / 1000),
    },
    {
      name: 'headgate_config_reloads',
      type: 'counter',
      help: 'Reloads of the configuration by outcome. Begins at 0 at each start.',
      samples: Array.from(reloads, ([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: 'headgate_backups',
      type: 'counter',
      help: 'Backups that were scheduled or requested by a call, by outcome. Begins at 0 at each start.',
      samples: Array.from(backups.outcomes, ([outcome, value]) => ({ labels: { outcome }, value })),
    },
    {
      name: 'headgate_backup_timestamp_seconds',
      type: 'gauge',
      help: 'When the newest whole backup of this store in the directory of backups began, in seconds since the epoch. 0: there is none.',
      samples: single((backups.condition.newestMs ?? 0) / 1000),
    },
    {
      name: 'headgate_sse_streams',
      type: 'gauge',
      help: 'Open event streams.',
      samples: single(count),
    },
    {
      name: 'headgate_sse_gaps',
      type: 'counter',
      help: 'Gap events that were sent to readers of event streams, by reason. Begins at 0 at each start.',
      samples: Array.from(gaps, ([reason, value]) => ({ labels: { reason }, value })),
    },
  ];
}
