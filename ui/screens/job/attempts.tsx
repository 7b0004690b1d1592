// The attempts of a job, newest first: how each ended, its error, the lines that the plugin logged, its spans, and the output on stderr.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { duration } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { queryText } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Button, Code, Empty, Loading, More, Problem, Section, Status, Time } from '../../parts/index.ts';
import { isSettled, type ShownAttempt, type ShownJob } from './shown-job.ts';

const pageSize = 50;
const pageSizeMax = 200;

export function Attempts({ job }: { job: ShownJob }): JSX.Element | null {
  const [limit, setLimit] = useState(pageSize);
  const hasEnded = isSettled(job);
  const [wasOpen] = useState(!hasEnded);
  const mayRead = may('jobs:logs:ro', 'jobs:ro', 'jobs:rw');
  // Messages and spans come only together with the result.
  const [isWhole, setWhole] = useState(false);
  const leavesOut = !isWhole && job.omitted?.includes('result') === true;
  const query = {
    job_id: job.job_id,
    limit: String(limit),
    include_result: may('jobs:ro', 'jobs:rw') && !leavesOut ? 'true' : undefined,
  };
  const logs = useResource<{ logs: ShownAttempt[]; total: number }>(mayRead ? `/job-logs${queryText(query)}` : null, {
    live: hasEnded ? [] : ['job.*'],
  });
  // The list may have been read before the last attempt ended.
  useEffect(() => {
    if (wasOpen && hasEnded) logs.reload();
  }, [hasEnded]);
  if (!mayRead) return null;
  return (
    <Section title="Attempts" note={logs.data && `${logs.data.total} ended`}>
      {logs.error && !logs.data && <Problem error={logs.error} retry={logs.reload} />}
      {!logs.data && !logs.error && <Loading rows={2} />}
      {logs.data?.logs.length === 0 && (
        <Empty title="No attempt has ended">
          {hasEnded ? 'The job ended before an attempt of it did.' : 'An attempt appears here when it has ended.'}
        </Empty>
      )}
      <ol class="attempts" aria-label="Attempts">
        {logs.data?.logs.map(attempt => (
          <AttemptEntry key={attempt.log_id} attempt={attempt} />
        ))}
      </ol>
      {leavesOut && <Button onClick={() => setWhole(true)}>Load messages and spans (fetches the large result)</Button>}
      {logs.data && logs.data.total > logs.data.logs.length && limit < pageSizeMax && (
        <More onMore={() => setLimit(pageSizeMax)} loading={logs.loading} />
      )}
    </Section>
  );
}

function AttemptEntry({ attempt }: { attempt: ShownAttempt }) {
  const { attempt: number, status, completed_at: endedAt, last_error: error, stderr, result, spans } = attempt;
  const logs = result?.logs ?? [];
  return (
    <li class="attempt">
      <header class="attempt-head">
        <strong>Attempt {number}</strong>
        <Status status={status} />
        <span class="muted">
          ended <Time at={endedAt} />
        </span>
      </header>
      {error && <pre class="attempt-error">{error}</pre>}
      {logs.length > 0 && (
        <ul class="attempt-logs" aria-label={`Log of attempt ${number}`}>
          {logs.map(({ level, message }, n) => (
            <li key={`${n} ${message}`} class={`log-${level}`}>
              <span class="log-level">{level}</span> <span class="log-message">{message}</span>
            </li>
          ))}
        </ul>
      )}
      {spans && (
        <ul class="attempt-spans" aria-label={`Spans of attempt ${number}`}>
          {spans.map(({ name, dur_ns }, n) => (
            <li key={`${n} ${name}`}>
              <span class="muted">{name}</span> <span class="number">{duration(dur_ns / 1_000)}</span>
            </li>
          ))}
        </ul>
      )}
      {stderr && (
        <details open={stderr.length < 2_000}>
          <summary>stderr</summary>
          <Code text={stderr} label={`stderr of attempt ${number}`} />
        </details>
      )}
    </li>
  );
}
