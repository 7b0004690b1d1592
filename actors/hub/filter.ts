// Which observations a subscriber wants: by type, and by job.
import { formatId, type JobId, jobIdBytes, parseId } from '../../runtime/ids.ts';
import { type Observations, type ObservationType, observationTypes } from './protocol.ts';

export type Filter = {
  /** Null: every type. */
  readonly types: ReadonlySet<ObservationType> | null;
  /** Null: every job. */
  readonly jobId: JobId | null;
};
export const everything: Filter = { types: null, jobId: null };

/** The types that a pattern stands for: a type, or its beginning and a star. Empty: it stands for none. */
export function typesOf(pattern: string): readonly ObservationType[] {
  if (!pattern.endsWith('*')) return observationTypes.filter(type => type === pattern);
  return observationTypes.filter(type => type.startsWith(pattern.slice(0, -1)));
}

/** Equal for filters that want the same. */
export function filterKey({ types, jobId }: Filter): string {
  const wanted = types === null ? '*' : observationTypes.filter(type => types.has(type)).join();
  return `${wanted} ${jobId === null ? '' : formatId(jobId)}`;
}

/** Whether the filter wants any of the group, as far as its type says. */
export function wantsType({ types }: Filter, group: Observations): boolean {
  return types === null || types.has(group.type);
}

/** The place of the next observation of the group that is wanted, from `place` on; -1: none is. */
export function nextWanted({ jobId }: Filter, group: Observations, place: number): number {
  if (jobId === null) return place;
  if (group.kind === 'plain') {
    const named = group.fields['job_id'];
    return typeof named === 'string' && parseId(named) !== undefined && formatId(jobId) === named ? place : -1;
  }
  const ids = Buffer.from(group.ids.buffer, group.ids.byteOffset, group.ids.byteLength);
  for (let at = ids.indexOf(jobId, place * jobIdBytes); at >= 0; at = ids.indexOf(jobId, at + 1)) {
    if (at % jobIdBytes === 0) return at / jobIdBytes;
  }
  return -1;
}
