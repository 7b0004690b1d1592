// The metrics of the ledger: open jobs, lanes, commits, workers. They come from shared memory and from the reports of the ledger thread.
import type { Gauges } from '../../actors/job/gauges.ts';
import type { CommitMeter } from '../ledger/commit-meter.ts';
import { type MetricFamily, single } from './family.ts';
import type { LedgerReports } from './ledger-reports.ts';

const byPlugin = ['plugin'];

/** The jobs that have not ended. Each job is counted under one state; a run that has begun is counted separately. */
export function gaugeFamilies(gauges: Gauges): readonly MetricFamily[] {
  const states = {
    queued: gauges.get('queued') - gauges.get('held'),
    running: gauges.get('running'),
    retrying: gauges.get('retrying'),
    scheduled: gauges.get('scheduled'),
    held: gauges.get('held') - gauges.get('paused'),
    paused: gauges.get('paused'),
  };
  return [
    {
      name: 'headgate_jobs',
      type: 'gauge',
      help: 'Open jobs by state, without runs that have begun. Held: the plugin cannot run; scheduled: the time to run has not come.',
      samples: Object.entries(states).map(([state, value]) => ({ labels: { state }, value: Math.max(0, value) })),
    },
    {
      name: 'headgate_runs_open',
      type: 'gauge',
      help: 'Runs of pipelines that have begun and not ended.',
      samples: single(gauges.get('runs')),
    },
  ];
}

export function commitFamilies({ seconds, jobs }: CommitMeter): readonly MetricFamily[] {
  return [
    {
      name: 'headgate_commit_seconds',
      type: 'histogram',
      help: 'How long commits of the ledger took. Begins at 0 at each start.',
      samples: single(seconds.read()),
    },
    {
      name: 'headgate_commit_jobs',
      type: 'histogram',
      help: 'Accepted jobs and ended attempts in one commit of the ledger. Begins at 0 at each start.',
      samples: single(jobs.read()),
    },
  ];
}

export function reportFamilies({ figures, pulse }: LedgerReports, nowMs: number): readonly MetricFamily[] {
  const lanes = figures?.lanes ?? [];
  const latestMs = Math.max(nowMs, figures?.nowMs ?? 0);
  return [
    {
      name: 'headgate_lane_queued_jobs',
      type: 'gauge',
      help: 'Jobs of a plugin that wait for a worker, including held and paused jobs.',
      named: byPlugin,
      samples: lanes.map(({ plugin, queued }) => ({ labels: { plugin }, value: queued })),
    },
    {
      name: 'headgate_lane_running_jobs',
      type: 'gauge',
      help: 'Jobs of a plugin that are in hosts.',
      named: byPlugin,
      samples: lanes.map(({ plugin, running }) => ({ labels: { plugin }, value: running })),
    },
    {
      name: 'headgate_lane_oldest_queued_seconds',
      type: 'gauge',
      joined: 'max',
      help: 'How long the next job of a plugin has been able to run; 0 if none waits, or if the plugin is held or paused.',
      named: byPlugin,
      samples: lanes.map(({ plugin, oldestMs }) => {
        return { labels: { plugin }, value: oldestMs === null ? 0 : Math.max(0, latestMs - oldestMs) / 1000 };
      }),
    },
    {
      name: 'headgate_workers',
      type: 'gauge',
      help: 'Threads or processes of the running hosts, by kind of host.',
      samples: (pulse?.workers ?? []).map(([kind, value]) => ({ labels: { kind }, value })),
    },
    {
      name: 'headgate_workers_busy_ratio',
      type: 'gauge',
      help: 'The share of the last minute in which the workers of the busiest kind were busy.',
      samples: figures ? single(figures.utilization) : [],
    },
    {
      name: 'headgate_host_restarts',
      type: 'counter',
      help: 'Hosts that were lost and started again. Begins at 0 at each start.',
      samples: (pulse?.restarts ?? []).map(([host, value]) => ({ labels: { host }, value })),
    },
  ];
}
