// Filters of the event stream: by type, job, tree and run.
import { formatId, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { GroupOrigins } from './origins.ts';
import { type Observations, type ObservationType, observationTypes } from './protocol.ts';

export type Filter = {
  /** Null: every type. */
  readonly types: ReadonlySet<ObservationType> | null;
  /** Null: every job. */
  readonly jobId: JobId | null;
  /** This job and its descendants; null: every tree. */
  readonly root: string | null;
  /** This run and the jobs inside it, including those of called runs; null: every run. */
  readonly run: string | null;
};
export const everything: Filter = { types: null, jobId: null, root: null, run: null };

/** The types that a pattern matches: a type, or a prefix and a star. Empty: none. */
export function typesOf(pattern: string): readonly ObservationType[] {
  if (!pattern.endsWith('*')) return observationTypes.filter(type => type === pattern);
  return observationTypes.filter(type => type.startsWith(pattern.slice(0, -1)));
}

/** Equal for equivalent filters. */
export function filterKey({ types, jobId, root, run }: Filter): string {
  const wanted = types === null ? '*' : observationTypes.filter(type => types.has(type)).join();
  return `${wanted} ${jobId === null ? '' : formatId(jobId)} ${root ?? ''} ${run ?? ''}`;
}

/** Whether the filter selects the type of the group. */
export function wantsType({ types }: Filter, group: Observations): boolean {
  return types === null || types.has(group.type);
}

/** Whether the filter selects by type alone. */
export function wantsAll({ jobId, root, run }: Filter): boolean {
  return jobId === null && root === null && run === null;
}

/** The index of the next observation of the group, from `place` on, that is about the selected job; -1: none. */
export function nextOfJob({ jobId }: Filter, group: Observations, place: number): number {
  if (jobId === null) return place;
  if (group.kind === 'plain') return group.fields['job_id'] === formatId(jobId) ? place : -1;
  const ids = Buffer.from(group.ids.buffer, group.ids.byteOffset, group.ids.byteLength);
  for (let at = ids.indexOf(jobId, place * jobIdBytes); at >= 0; at = ids.indexOf(jobId, at + 1)) {
    if (at % jobIdBytes === 0) return at / jobIdBytes;
  }
  return -1;
}

/** Whether the observation at this index belongs to the selected tree and run. */
export function isInTree({ root, run }: Filter, { group, origins }: Watched, place: number): boolean {
  if (root === null && run === null) return true;
  const origin = origins?.at(place);
  // Events of no job, and of jobs that are no longer stored, belong to no tree or run.
  if (root !== null && (origin ? origin.root : idAt(group, place)) !== root) return false;
  return run === null || origin?.runs.includes(run) === true || idAt(group, place) === run;
}

type Watched = { readonly group: Observations; readonly origins: GroupOrigins | null };

/** The id of the job at an index of a group; null: the group is not about jobs. */
function idAt(group: Observations, place: number): string | null {
  if (group.kind === 'jobs') return formatId(group.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
  const named = group.fields['job_id'];
  return typeof named === 'string' ? named : null;
}
