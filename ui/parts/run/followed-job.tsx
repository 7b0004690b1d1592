// Shows a job that was started on this page: its status until it has ended, and then its result.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { rawMember, requestText } from '../../core/api.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Announce, Code, JobId, Problem, Status, statusText, Time } from '../index.ts';

type Followed = {
  readonly status: string;
  readonly plugin: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  readonly last_error?: string;
  readonly counts?: { readonly unsettled?: number; readonly succeeded: number };
  readonly waits_for?: { readonly detail: string };
};

export function FollowedJob({ id }: { id: string }): JSX.Element {
  const mayRead = may('jobs:status:ro', 'jobs:ro', 'jobs:rw');
  const [isOver, setOver] = useState(false);
  // A large result is left out: it is read once, at the end.
  const { data, error } = useResource<Followed>(
    mayRead ? `/job/${id}?result=short` : null,
    isOver ? {} : { live: ['job.*', 'pipeline.*'], everyMs: 2_000 },
  );
  const hasEnded = data !== undefined && data.completed_at !== null;
  useEffect(() => setOver(hasEnded), [hasEnded]);
  return (
    <section class="followed" aria-label="The job that was started">
      <Announce text={data ? statusText(data.status) : ''} />
      <p class="followed-head">
        <JobId id={id} />
        {data && <Status status={data.status} />}
        {data?.completed_at && (
          <span class="muted">
            ended <Time at={data.completed_at} />
          </span>
        )}
        {data?.plugin === 'pipeline' && may('jobs:tree:ro', 'jobs:ro', 'jobs:rw') && (
          <a href={href('run', id)}>Follow the run</a>
        )}
      </p>
      {!mayRead && <p class="muted">The token may not read jobs: it needs jobs:status:ro, jobs:ro or jobs:rw.</p>}
      {error && <Problem error={error} />}
      {data?.waits_for && !hasEnded && <p class="muted">Waits: {data.waits_for.detail}</p>}
      {data?.last_error && <p class="followed-error">{data.last_error}</p>}
      {hasEnded && <FollowedResult id={id} />}
    </section>
  );
}

/** The result as it was sent. */
function FollowedResult({ id }: { id: string }): JSX.Element | null {
  const [text, setText] = useState<string | null>(null);
  useEffect(() => {
    const gone = new AbortController();
    requestText(`/job/${id}`, gone.signal).then(
      body => {
        const response = rawMember(body, 'result');
        const result = response?.startsWith('{') ? rawMember(response, 'result') : undefined;
        setText(result ?? null);
      },
      // If the request fails, no result is shown. If the service does not answer, the navigation says so.
      () => setText(null),
    );
    return () => gone.abort();
  }, [id]);
  return text === null || text === 'null' ? null : <Code text={text} label="Result" />;
}
