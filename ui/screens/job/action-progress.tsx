// How far an action over many jobs has come. On the page of the action's job.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { count } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { may } from '../../core/session.ts';
import { Problem, Section } from '../../parts/index.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

type Action = {
  readonly where?: object;
  readonly matched: number;
  readonly done: number;
  readonly skipped: { readonly [reason: string]: number };
  readonly failed: number;
};

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
  const skipped = Object.entries(data.skipped);
  return (
    <Section title="Progress" note={`of ${count(data.matched)} jobs that matched`}>
      <progress
        class="job-progress"
        max={Math.max(1, data.matched)}
        value={handled(data)}
        aria-label="Jobs that were handled"
      />
      <p>
        {count(data.done)} done
        {skipped.map(([reason, jobs]) => `, ${count(jobs)} skipped (${reason.replaceAll('_', ' ')})`)}
        {data.failed > 0 && `, ${count(data.failed)} failed`}
      </p>
      {data.where && <p class="muted">Matches: {JSON.stringify(data.where)}</p>}
    </Section>
  );
}

function handled({ done, skipped, failed }: Action): number {
  return done + failed + Object.values(skipped).reduce((sum, jobs) => sum + jobs, 0);
}
