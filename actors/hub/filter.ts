// Which observations a subscriber wants: by type, by job, by tree and by run.
import { formatId, type JobId, jobIdBytes } from '../../runtime/ids.ts';
import type { GroupOrigins } from './origins.ts';
import { type Observations, type ObservationType, observationTypes } from './protocol.ts';

export type Filter = {
  /** Null: every type. */
  readonly types: ReadonlySet<ObservationType> | null;
  /** Null: every job. */
  readonly jobId: JobId | null;
  /** Of this job and its descendants; null: of every tree. */
  readonly root: string | null;
  /** Of this run and the jobs inside it, those of called runs included; null: whatever run they are in. */
  readonly run: string | null;
};
export const everything: Filter = { types: null, jobId: null, root: null, run: null };

/** The types that a pattern stands for: a type, or its beginning and a star. Empty: it stands for none. */
export function typesOf(pattern: string): readonly ObservationType[] {
  if (!pattern.endsWith('*')) return observationTypes.filter(type => type === pattern);
  return observationTypes.filter(type => type.startsWith(pattern.slice(0, -1)));
}

/** Equal for filters that want the same. */
export function filterKey({ types, jobId, root, run }: Filter): string {
  const wanted = types === null ? '*' : observationTypes.filter(type => types.has(type)).join();
  return `${wanted} ${jobId === null ? '' : formatId(jobId)} ${root ?? ''} ${run ?? ''}`;
}

/** Whether the filter wants any of the group, as far as its type says. */
export function wantsType({ types }: Filter, group: Observations): boolean {
  return types === null || types.has(group.type);
}

/** Whether nothing but the type counts. */
export function wantsAll({ jobId, root, run }: Filter): boolean {
  return jobId === null && root === null && run === null;
}

/** The place of the next observation of the group that is about the wanted job, from `place` on; -1: none is. */
export function nextOfJob({ jobId }: Filter, group: Observations, place: number): number {
  if (jobId === null) return place;
  if (group.kind === 'plain') return group.fields['job_id'] === formatId(jobId) ? place : -1;
  const ids = Buffer.from(group.ids.buffer, group.ids.byteOffset, group.ids.byteLength);
  for (let at = ids.indexOf(jobId, place * jobIdBytes); at >= 0; at = ids.indexOf(jobId, at + 1)) {
    if (at % jobIdBytes === 0) return at / jobIdBytes;
  }
  return -1;
}

/** Whether the observation at this place is of the wanted tree and the wanted run. */
export function isInTree({ root, run }: Filter, { group, origins }: Watched, place: number): boolean {
  if (root === null && run === null) return true;
  const origin = origins?.at(place);
  // What is no event of a job, or of one that is no longer kept, has no more than an id.
  if (root !== null && (origin ? origin.root : idAt(group, place)) !== root) return false;
  return run === null || origin?.runs.includes(run) === true || idAt(group, place) === run;
}

type Watched = { readonly group: Observations; readonly origins: GroupOrigins | null };

/** The id of the job at a place of a group; null: it is about none. */
function idAt(group: Observations, place: number): string | null {
  if (group.kind === 'jobs') return formatId(group.ids.subarray(place * jobIdBytes, (place + 1) * jobIdBytes));
  const named = group.fields['job_id'];
  return typeof named === 'string' ? named : null;
}
