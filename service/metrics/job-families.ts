// The metrics of jobs and attempts: counts from the ledger's counters, durations from the running totals of the index.
import type { StoredTotal } from '../../actors/index/views/totals.ts';
import { type CommandCounts, type CommandTotals, everCounted, jobSources } from '../../actors/job/records/counts.ts';
import { isHosted, type TerminalStatus, terminalStatuses } from '../../actors/job/records/job.ts';
import type { BucketValues, MetricFamily, Sample } from './family.ts';

const named = ['plugin', 'command'];
const sinceIndex = 'Continues after a restart; begins again if the index is rebuilt.';

/** The counters of all jobs ever accepted, including pruned ones. `commands`: in the order in which they get series (`SeriesRoom`). */
export function countFamilies(commands: readonly CommandCounts[]): readonly MetricFamily[] {
  const family = (what: keyof ReturnType<typeof countSamples>, name: string, help: string): MetricFamily => ({
    name,
    type: 'counter',
    help: `${help} Continues after a restart.`,
    named,
    samples: commands.flatMap(each => countSamples(each)[what]),
  });
  const causes = 'Accepted jobs by what caused them; plugin pipeline: runs, plugin headgate: actions.';
  return [
    family('accepted', 'headgate_jobs_accepted', causes),
    family('settled', 'headgate_jobs_settled', 'Jobs that ended, by status.'),
    family('attempts', 'headgate_attempts', 'Attempts that ended, by outcome, including attempts that were retried.'),
  ];
}

const countSamples = once((each: CommandCounts) => {
  const { plugin, command, counts } = each;
  return {
    accepted: acceptedBySource(each),
    settled: terminalStatuses.map(status => ({
      labels: { plugin, command, status },
      value: everCounted(counts, status),
    })),
    attempts: isHosted(plugin)
      ? terminalStatuses.map(outcome => ({ labels: { plugin, command, outcome }, value: attempts(counts, outcome) }))
      : [],
  };
});

/** Caches the result of `make` for each record. So a record that a later scrape finds again has the same samples. */
function once<R extends object, S>(make: (record: R) => S): (record: R) => S {
  const known = new WeakMap<R, S>();
  return record => {
    let made = known.get(record);
    if (made === undefined) {
      made = make(record);
      known.set(record, made);
    }
    return made;
  };
}

/** The accepted jobs by source. Jobs that are not counted under another source came from calls. */
function acceptedBySource({ plugin, command, counts }: CommandCounts): Sample<number>[] {
  const sources: NonNullable<CommandTotals['sources']> = counts.sources ?? {};
  const others = Object.values(sources).reduce((sum, count) => sum + count, 0);
  const calls = everCounted(counts, 'accepted') - others;
  return jobSources.flatMap(source => {
    const value = source === 'api' ? calls : (sources[source] ?? 0);
    return value > 0 || source === 'api' ? [{ labels: { plugin, command, source }, value }] : [];
  });
}

/** The ended attempts that ran. */
function attempts(counts: CommandTotals, outcome: TerminalStatus): number {
  const last = everCounted(counts, outcome) - (counts.unstarted?.[outcome] ?? 0);
  switch (outcome) {
    case 'failed':
      return last + everCounted(counts, 'retried_failed');
    case 'timed_out':
      return last + everCounted(counts, 'retried_timed_out');
    case 'cancelled':
      return last - everCounted(counts, 'never_started');
    default:
      return last;
  }
}

/** The histograms of durations. */
export function timeFamilies(totals: readonly StoredTotal[]): readonly MetricFamily[] {
  const family = (name: string, help: string, times: string, free: readonly string[]): MetricFamily => ({
    name,
    type: 'histogram',
    help: `${help} ${sinceIndex}`,
    named: free,
    samples: totals.flatMap(total => timeSamples(total).get(times) ?? []),
  });
  return [
    family('headgate_run_seconds', 'How long runs of pipelines took.', 'run', ['pipeline']),
    family('headgate_attempt_seconds', 'How long attempts ran.', 'attempt', named),
    family(
      'headgate_job_queue_seconds',
      'How long jobs waited for a worker, without delays, holds and pauses.',
      'queue',
      named,
    ),
    family('headgate_job_total_seconds', 'From acceptance to the end of a job that ran.', 'total', named),
    family('headgate_step_seconds', 'How long attempts of the jobs of a step ran.', 'step', timeLabels.step),
  ];
}

const timeLabels: { readonly [K in StoredTotal['kind']]: readonly [string, string] } = {
  command: ['plugin', 'command'],
  run: ['pipeline', 'status'],
  step: ['pipeline', 'step'],
};

/** The non-empty histograms of a record, by name. */
const timeSamples = once(({ kind, names, times }: StoredTotal): ReadonlyMap<string, Sample<BucketValues>> => {
  const [first, second] = timeLabels[kind];
  const labels = { [first]: names[0]!, [second]: names[1]! };
  const counted = [...times].filter(([, { counts }]) => counts.some(count => count > 0));
  return new Map(counted.map(([name, value]) => [name, { labels, value }]));
});
