// A restored state waits until somebody resumes it: what it would run, and the question before the resume.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { count, counted, now } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Button, Confirm } from '../../parts/index.ts';
import { resume } from '../../parts/pause.tsx';
import { overviewEvents } from './overview.ts';
import { isRestored, type PauseList, type WouldRun, wouldRunText } from './would-run.ts';

/** The maximum number of commands that the question lists. */
const commandsShownMax = 8;
const meanwhile = 'no schedule fires, and deliveries of webhooks get 503.';

/** What the service would run; undefined: it holds no restored state, or the token may not read pauses. */
export function useWouldRun(isHeld: boolean): WouldRun | undefined {
  const isRead = isHeld && may('control:ro', 'control:rw');
  const pauses = useResource<PauseList>(isRead ? '/pauses' : null, { live: overviewEvents, everyMs: 5_000 });
  return pauses.data?.pauses.find(isRestored)?.would_run;
}

export function RestoredNote({ would }: { would: WouldRun | undefined }): JSX.Element {
  return (
    <span class="attention-more">
      {would
        ? `Once it is resumed, it ${wouldRunText(would, now.value)}. Until then ${meanwhile}`
        : `Until it is resumed, ${meanwhile}`}
    </span>
  );
}

export function ResumeRestored(props: { would: WouldRun | undefined; onDone: () => void }): JSX.Element | null {
  const { would, onDone } = props;
  const [isAsked, setAsked] = useState(false);
  if (!may('control:rw')) return null;
  const confirm = async () => {
    const done = await resume({ kind: 'system' });
    onDone();
    return done;
  };
  const further = (would?.commands.length ?? 0) - commandsShownMax;
  return (
    <>
      <Button onClick={() => setAsked(true)} label="Resume the service">
        Resume…
      </Button>
      {isAsked && (
        <Confirm title="Resume the restored service?" verb="Resume" onConfirm={confirm} onClose={() => setAsked(false)}>
          {would && <p class="many-count">It {wouldRunText(would, now.value)}.</p>}
          {would && would.commands.length > 0 && (
            <ul class="would-run" aria-label="Jobs that it runs, by command">
              {would.commands.slice(0, commandsShownMax).map(({ plugin, command, jobs }) => (
                <li key={`${plugin} ${command}`}>
                  <a href={href('jobs', null, { plugin, command, status: 'queued' })}>
                    {plugin} {command}
                  </a>
                  <span class="number">{count(jobs)}</span>
                </li>
              ))}
              {further > 0 && <li class="muted">and {counted(further, 'command')} more</li>}
            </ul>
          )}
          <p>
            Jobs that have run since the backup was made may run again. First cancel{' '}
            <a href={href('jobs', null, { status: 'queued' })}>the jobs</a> that must not run twice. Schedules and
            webhooks work again after the resume.
          </p>
        </Confirm>
      )}
    </>
  );
}
