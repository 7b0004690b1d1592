// What can be done with a schedule: run it now, pause and resume it, and fire what it has missed.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { request } from '../../core/api.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Button, Confirm, Field } from '../../parts/index.ts';
import { Backfill } from './backfill.tsx';
import type { QuestionProps, ScheduleView } from './schedule-view.ts';

export function ScheduleActions(props: {
  schedule: ScheduleView;
  onDone: () => void;
  /** Whether to show only what is done often. */
  isBrief?: boolean;
}): JSX.Element | null {
  const { schedule, onDone, isBrief = false } = props;
  const [asks, setAsks] = useState<'pause' | 'run' | 'backfill' | null>(null);
  const { id, state } = schedule;
  if (!may('control:rw') || state === 'removed') return null;
  const path = `/schedule/${encodeURIComponent(id)}`;
  // A pipeline, and a command that writes, need plugin:rw; a command that reads needs plugin:ro. The page does not know whether a command
  // writes, so with plugin:ro alone the button is shown, and the service may refuse the call.
  const mayRun = may('plugin:rw', ...(schedule.pipeline === undefined ? ['plugin:ro'] : []));
  const resume = async () => {
    if (
      await act(`Resumed the schedule ${id}`, () =>
        request<undefined>('POST', `${path}/resume`, {}).then(() => undefined),
      )
    )
      onDone();
  };
  return (
    <span class="schedule-actions">
      {mayRun && (
        <Button onClick={() => setAsks('run')} label={`Run ${id} now`}>
          Run now…
        </Button>
      )}
      {state === 'paused' ? (
        <Button onClick={() => void resume()} label={`Resume ${id}`}>
          Resume
        </Button>
      ) : (
        state === 'active' && (
          <Button onClick={() => setAsks('pause')} label={`Pause ${id}`}>
            Pause…
          </Button>
        )
      )}
      {mayRun && schedule.at === undefined && !isBrief && (
        <Button onClick={() => setAsks('backfill')} label={`Backfill ${id}`}>
          Backfill…
        </Button>
      )}
      {asks === 'run' && <RunNow id={id} path={path} onDone={onDone} onClose={() => setAsks(null)} />}
      {asks === 'pause' && <PauseSchedule id={id} path={path} onDone={onDone} onClose={() => setAsks(null)} />}
      {asks === 'backfill' && <Backfill id={id} path={path} onDone={onDone} onClose={() => setAsks(null)} />}
    </span>
  );
}

function RunNow({ id, path, onDone, onClose }: QuestionProps): JSX.Element {
  const run = () =>
    act(`Ran the schedule ${id}`, async () => {
      const { job_id } = await request<{ job_id: string }>('POST', `${path}/run`, {});
      onDone();
      return { text: 'The job is on disk.', link: { text: 'Show the job', href: href('job', job_id) } };
    });
  return (
    <Confirm title={`Run ${id} now`} verb="Run now" onConfirm={run} onClose={onClose}>
      <p>Starts its target once, with its payload. The schedule itself goes on as before.</p>
    </Confirm>
  );
}

function PauseSchedule({ id, path, onDone, onClose }: QuestionProps): JSX.Element {
  const [reason, setReason] = useState('');
  const pause = () =>
    act(`Paused the schedule ${id}`, async () => {
      await request('POST', `${path}/pause`, reason === '' ? {} : { reason });
      onDone();
    });
  return (
    <Confirm title={`Pause ${id}`} verb="Pause" onConfirm={pause} onClose={onClose}>
      <p>It does not fire until it is resumed, even after a restart. Jobs that it has started continue.</p>
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the schedule." />
    </Confirm>
  );
}
