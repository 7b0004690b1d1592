// Shows how far an action on many jobs has come, on the page of the action's own job.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { count } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import {
  type Action,
  deedText,
  filterText,
  leftText,
  paceText,
  progressText,
  skippedOf,
  takenOf,
} from '../../parts/action.ts';
import { Problem, Section } from '../../parts/index.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

export function ActionProgress({ job }: { job: ShownJob }): JSX.Element | null {
  const mayRead = may('control:ro', 'control:rw');
  const hasEnded = isSettled(job);
  const { data, error, reload } = useResource<Action>(
    mayRead ? `/action/${job.job_id}` : null,
    hasEnded ? {} : { everyMs: 1_000 },
  );
  useEffect(() => reload(), [hasEnded]);
  if (!mayRead) return null;
  if (!data) return error ? <Problem error={error} retry={reload} /> : null;
  return (
    <Section
      title="Progress"
      note={`of ${count(data.matched)} jobs that matched`}
      actions={<a href={href('actions')}>All actions</a>}
    >
      <progress
        class="job-progress"
        max={Math.max(1, takenOf(data))}
        value={data.done + data.failed + skippedOf(data)}
        aria-label="Jobs that were handled"
      />
      <p>{progressText(data)}</p>
      {leftText(data) !== '' && <p>{leftText(data)}</p>}
      <p class="muted">
        {[deedText(data), paceText(data)].filter(Boolean).join(', ')}: {filterText(data)}
      </p>
    </Section>
  );
}
