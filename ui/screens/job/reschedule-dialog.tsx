// The dialog that reschedules a delayed job: it gives the job a new time to run.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { request } from '../../core/api.ts';
import { exact } from '../../core/format.ts';
import { Confirm, Field, Time } from '../../parts/index.ts';
import { jobTitle, type ShownJob } from './shown-job.ts';

export function RescheduleDialog({ job, onClose }: { job: ShownJob; onClose: () => void }): JSX.Element {
  const [delay, setDelay] = useState('');
  const [at, setAt] = useState('');
  const title = `Reschedule ${jobTitle(job)}`;
  const confirm = () =>
    act(title, async () => {
      // The field gives a time in the time zone of the browser; the API gets it in UTC.
      const body = at !== '' ? { run_at: new Date(at).toISOString() } : { delay };
      const { run_at: runAt } = await request<{ run_at: string }>('POST', `/job/${job.job_id}/reschedule`, body);
      return `It runs at ${exact(new Date(runAt))}.`;
    });
  return (
    <Confirm title={title} verb="Reschedule" disabled={delay === '' && at === ''} onConfirm={confirm} onClose={onClose}>
      {job.run_at && (
        <p>
          It runs <Time at={job.run_at} />.
        </p>
      )}
      <Field
        label="After"
        value={delay}
        onInput={setDelay}
        placeholder="10m"
        hint="A duration such as 30s, 10m or 2h."
      />
      <Field label="Or at" type="datetime-local" value={at} onInput={setAt} hint="In your time zone." />
    </Confirm>
  );
}
