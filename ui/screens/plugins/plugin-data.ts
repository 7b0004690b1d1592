// What the screens of plugins and pipelines show: lanes, counts and pauses.

import { type Resource, useResource } from '../../core/resource.ts';
import { may } from '../../core/session.ts';
import type { PauseView } from '../../parts/pause-words.ts';

export type LaneView = {
  readonly plugin: string;
  readonly queued_count: number;
  readonly active_count: number;
  readonly held_count: number;
  readonly limit: number | null;
  readonly oldest_queued_at: string | null;
  readonly run_p95_us: number | null;
  readonly queue_p95_us: number | null;
  readonly hold?: {
    readonly reason: string;
    readonly detail: string;
    readonly since?: string;
    readonly until?: string;
  };
  readonly breaker?: 'closed' | 'open' | 'half_open';
  readonly isolated?: true;
};

export type CommandCount = { readonly plugin: string; readonly command: string } & StatusCounts;
export type StatusCounts = {
  readonly queued: number;
  readonly running: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly timed_out: number;
  readonly dead: number;
  readonly cancelled: number;
};

export const noCounts: StatusCounts = {
  queued: 0,
  running: 0,
  succeeded: 0,
  failed: 0,
  timed_out: 0,
  dead: 0,
  cancelled: 0,
};

/** Of the pauses alone, the service does not say when it listed them. */
type PausesAnswer = { readonly captured_at?: string; readonly pauses: readonly PauseView[] };
type OverviewAnswer = PausesAnswer & { readonly lanes: readonly LaneView[] };
type CountsAnswer = { readonly counts: readonly CommandCount[] };

const changes = ['job.*', 'plugin.*', 'pipeline.*', 'system.*', 'config.reloaded'];

export const jobScopes = ['jobs:ro', 'jobs:rw'] as const;

/** The overview and the counts, if the token may read jobs, and the pauses, if it may read jobs or pauses. */
export function usePluginData(): {
  readonly overview: Resource<OverviewAnswer>;
  readonly counts: Resource<CountsAnswer>;
  readonly pauses: Resource<PausesAnswer>;
} {
  const mayRead = may(...jobScopes);
  const often = { live: changes, everyMs: 10_000 };
  const overview = useResource<OverviewAnswer>(mayRead ? '/overview' : null, often);
  const counts = useResource<CountsAnswer>(mayRead ? '/counts' : null, often);
  const onlyPauses = useResource<PausesAnswer>(!mayRead && may('control:ro', 'control:rw') ? '/pauses' : null, often);
  return { overview, counts, pauses: mayRead ? overview : onlyPauses };
}

/** The sum of the counts of all commands of the plugin. */
export function countsOf(counts: readonly CommandCount[] | undefined, plugin: string): StatusCounts {
  const own = counts?.filter(each => each.plugin === plugin) ?? [];
  const sum = (name: keyof StatusCounts) => own.reduce((all, each) => all + each[name], 0);
  return {
    queued: sum('queued'),
    running: sum('running'),
    succeeded: sum('succeeded'),
    failed: sum('failed'),
    timed_out: sum('timed_out'),
    dead: sum('dead'),
    cancelled: sum('cancelled'),
  };
}

/** How many jobs ended without success. */
export function failedOf({ failed, timed_out, dead }: StatusCounts): number {
  return failed + timed_out + dead;
}
