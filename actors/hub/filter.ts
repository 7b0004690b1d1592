// A filter of the event stream: it selects observations by type, job, tree and run.
import { formatId, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { GroupOrigins } from './origins.ts';
import { type Observations, type ObservationType, observationTypes } from './protocol.ts';

export type Filter = {
  /** The types of the selected observations. Null: every type. */
  readonly types: ReadonlySet<ObservationType> | null;
  /** The job that selected observations are about. Null: every job. */
  readonly jobId: JobId | null;
  /** The id of a root: observations about it and about its descendants are selected. Null: every tree. */
  readonly root: string | null;
  /** The id of a run: observations about it and about the jobs and runs inside it are selected. Null: every run. */
  readonly run: string | null;
};
export const everything: Filter = { types: null, jobId: null, root: null, run: null };

/** The types that match the pattern, which is a type, or a prefix followed by a star. */
export function typesOf(pattern: string): readonly ObservationType[] {
  if (!pattern.endsWith('*')) return observationTypes.filter(type => type === pattern);
  return observationTypes.filter(type => type.startsWith(pattern.slice(0, -1)));
}

/** Filters with equal keys select the same observations. */
export function filterKey({ types, jobId, root, run }: Filter): string {
  const wanted = types === null ? '*' : observationTypes.filter(type => types.has(type)).join();
  return `${wanted} ${jobId === null ? '' : formatId(jobId)} ${root ?? ''} ${run ?? ''}`;
}

export function wantsType({ types }: Filter, group: Observations): boolean {
  return types === null || types.has(group.type);
}

/** Whether the filter selects by type alone. */
export function wantsAll({ jobId, root, run }: Filter): boolean {
  return jobId === null && root === null && run === null;
}

/**
 * The index, in the group, of the first observation about the selected job at or after the index `place`; `place` itself if no job is
 * selected. -1: there is no such observation.
 */
export function nextOfJob({ jobId }: Filter, group: Observations, place: number): number {
  if (jobId === null) return place;
  if (group.kind === 'plain') return group.fields['job_id'] === formatId(jobId) ? place : -1;
  const ids = Buffer.from(group.ids.buffer, group.ids.byteOffset, group.ids.byteLength);
  for (let at = ids.indexOf(jobId, place * jobIdBytes); at >= 0; at = ids.indexOf(jobId, at + 1)) {
    if (at % jobIdBytes === 0) return at / jobIdBytes;
  }
  return -1;
}

/** Whether the observation at the index `place` belongs to the selected tree and run. */
export function isInTree({ root, run }: Filter, { group, origins }: Watched, place: number): boolean {
  if (root === null && run === null) return true;
  const origin = origins?.at(place);
  // Without an origin (the job is no longer stored, or the group is plain), only the id of the job itself can match.
  if (root !== null && (origin ? origin.root : idAt(group, place)) !== root) return false;
  return run === null || origin?.runs.includes(run) === true || idAt(group, place) === run;
}

type Watched = { readonly group: Observations; readonly origins: GroupOrigins | null };

/** The id of the job that the observation is about. Null: the observation is about no job. */
function idAt(group: Observations, place: number): string | null {
  if (group.kind === 'jobs') return formatId(group.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
  const named = group.fields['job_id'];
  return typeof named === 'string' ? named : null;
}
