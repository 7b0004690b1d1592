// Chooses a run to compare: one of the latest of the pipeline, or any by its id.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { clock, day, duration } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { queryText } from '../../core/router.ts';
import { Field, Select } from '../../parts/index.ts';
import { microsOf } from '../run/timeline.ts';

export type ListedRun = {
  readonly job_id: string;
  readonly command: string;
  readonly status: string;
  readonly created_at: string;
  readonly completed_at: string | null;
  readonly counts?: { readonly reused?: number };
};

/** The latest runs of a pipeline, newest first. `pipeline`: null while it is not known, and then the list is empty. */
export function useLatestRuns(pipeline: string | null): readonly ListedRun[] {
  const query = queryText({ plugin: 'pipeline', command: pipeline ?? undefined, limit: '50' });
  return useResource<{ jobs: ListedRun[] }>(pipeline === null ? null : `/jobs${query}`).data?.jobs ?? [];
}

/**
 * The latest run before this one that reused no jobs, because a run that reused some has fewer jobs to compare; otherwise the run just before this
 * one. Undefined: no earlier run is listed.
 */
export function runBefore(runs: readonly ListedRun[], id: string): string | undefined {
  const at = runs.findIndex(({ job_id }) => job_id === id);
  const earlier = at < 0 ? [] : runs.slice(at + 1);
  return (earlier.find(({ counts }) => !counts?.reused) ?? earlier[0])?.job_id;
}

export type RunPickerProps = {
  readonly label: string;
  readonly value: string | null;
  readonly runs: readonly ListedRun[];
  readonly onPick: (id: string) => void;
};

const other = 'other';
const jobIdForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function RunPicker({ label, value, runs, onPick }: RunPickerProps): JSX.Element {
  const [isTyping, setTyping] = useState(false);
  const [typed, setTyped] = useState('');
  const isListed = value === null || runs.some(({ job_id }) => job_id === value);
  if (isTyping || runs.length === 0)
    return (
      <Field
        label={label}
        value={typed || (value ?? '')}
        placeholder="The id of a run"
        error={
          typed !== '' && !jobIdForm.test(typed) ? 'An id looks like 0198c0de-0000-7000-8000-000000000000.' : undefined
        }
        onInput={text => {
          setTyped(text.trim());
          if (jobIdForm.test(text.trim())) onPick(text.trim());
        }}
      />
    );
  const options = [
    ...(value === null ? [{ value: '', text: 'Choose a run' }] : []),
    ...(isListed ? [] : [{ value: value!, text: value! }]),
    ...runs.map(run => ({ value: run.job_id, text: textOf(run) })),
    { value: other, text: 'another, by its id…' },
  ];
  return (
    <Select
      label={label}
      value={value ?? ''}
      options={options}
      onChange={id => (id === other ? setTyping(true) : id !== '' && onPick(id))}
    />
  );
}

function textOf({ job_id: id, status, created_at: createdAt, completed_at: endedAt }: ListedRun): string {
  const date = new Date(createdAt);
  const took = endedAt === null ? '' : `, ${duration(microsOf(endedAt) - microsOf(createdAt))}`;
  return `${day(date)} ${clock(date)}, ${status.replace('_', ' ')}${took} (…${id.slice(-12, -8)}${id.slice(9, 13)})`;
}
