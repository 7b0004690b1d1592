// What can be done to a job: cancel, rerun, run now, reschedule. The token and the state of the job decide which buttons are shown.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { request } from '../../core/api.ts';
import { counted } from '../../core/format.ts';
import { href } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Button, Confirm, Field } from '../../parts/index.ts';
import { RerunDialog } from './rerun-dialog.tsx';
import { RescheduleDialog } from './reschedule-dialog.tsx';
import { isAction, isRun, isSettled, isWaiting, jobTitle, type ShownJob } from './shown-job.ts';

type Question = 'cancel' | 'rerun' | 'failed' | 'reschedule';

export function JobActions({ job, reload }: { job: ShownJob; reload: () => void }): JSX.Element {
  const [asked, ask] = useState<Question | null>(null);
  const close = () => {
    ask(null);
    reload();
  };
  const mayAct = may('jobs:rw');
  const mayRun = may('plugin:rw') || (may('plugin:ro') && !isRun(job));
  // Actions and the jobs of phases cannot be run again.
  const mayRerun = mayAct && mayRun && !isAction(job) && job.phase === undefined;
  const hasEnded = isSettled(job);
  // A run that is being stopped can be cancelled again: with the runs that it has started, or by force.
  const mayCancel = mayAct && !hasEnded && (job.cancelling === undefined || isRun(job));
  const runNow = () =>
    act(`Run ${jobTitle(job)} now`, async () => {
      const { rescheduled } = await request<{ rescheduled: boolean }>('POST', `/job/${job.job_id}/run-now`, {});
      reload();
      return rescheduled ? 'It is due.' : 'It was due already.';
    });
  return (
    <>
      {isRun(job) && may('jobs:ro', 'jobs:rw') && (
        <a class="button" href={href('compare', null, { b: job.job_id })}>
          Compare
        </a>
      )}
      {mayAct && isWaiting(job) && <Button onClick={() => void runNow()}>Run now</Button>}
      {mayAct && isWaiting(job) && job.waits_for?.reason === 'run_at' && (
        <Button onClick={() => ask('reschedule')}>Reschedule</Button>
      )}
      {mayRerun && hasEnded && isRun(job) && job.status !== 'succeeded' && (
        <Button kind="primary" onClick={() => ask('failed')}>
          Rerun failed
        </Button>
      )}
      {mayRerun && hasEnded && <Button onClick={() => ask('rerun')}>Rerun</Button>}
      {mayCancel && (
        <Button kind="danger" onClick={() => ask('cancel')}>
          Cancel
        </Button>
      )}
      {asked === 'cancel' && <CancelDialog job={job} onClose={close} />}
      {asked === 'rerun' && <RerunDialog job={job} from="start" onClose={close} />}
      {asked === 'failed' && <RerunDialog job={job} from="failed" onClose={close} />}
      {asked === 'reschedule' && <RescheduleDialog job={job} onClose={close} />}
    </>
  );
}

function CancelDialog({ job, onClose }: { job: ShownJob; onClose: () => void }) {
  const [reason, setReason] = useState('');
  const [detached, setDetached] = useState(false);
  const [force, setForce] = useState(false);
  const title = `Cancel ${jobTitle(job)}`;
  const unsettled = job.counts?.['unsettled'];
  const confirm = () =>
    act(title, async () => {
      const body = { ...(reason !== '' && { reason }), ...(detached && { detached }) };
      const path = `/job/${job.job_id}/cancel${force ? '?force=true' : ''}`;
      const { status } = await request<{ status: string }>('POST', path, body);
      return status === 'cancelled' ? 'It is cancelled.' : 'It is being stopped.';
    });
  return (
    <Confirm title={title} verb="Cancel it" danger onConfirm={confirm} onClose={onClose}>
      <p>
        {isRun(job)
          ? `Nothing new starts in this run, and its running jobs are stopped.${unsettled ? ` ${counted(unsettled, 'job has', 'jobs have')} not ended.` : ''}`
          : 'It does not start any more; if it runs, it is stopped. If its code succeeds first, it ends as succeeded.'}
      </p>
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the job." />
      {isRun(job) && (
        <>
          <Check checked={detached} onChange={setDetached}>
            Also cancel the runs that its events have started
          </Check>
          <Check checked={force} onChange={setForce}>
            Also stop its phase finally, which cleans up
          </Check>
        </>
      )}
    </Confirm>
  );
}

function Check(props: { checked: boolean; onChange: (checked: boolean) => void; children: string }) {
  return (
    <label class="check">
      <input type="checkbox" checked={props.checked} onChange={event => props.onChange(event.currentTarget.checked)} />{' '}
      {props.children}
    </label>
  );
}
