// Runs an ended job again, if wanted with another payload. The new job opens when it is on disk.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { Refusal, rawMember, request, requestText } from '../../core/api.ts';
import { counted } from '../../core/format.ts';
import { go, href } from '../../core/router.ts';
import { Confirm, Field, Problem, Select } from '../../parts/index.ts';
import { indented, readPayload } from './payload-text.ts';
import { isRun, jobTitle, type ShownJob } from './shown-job.ts';

export type RerunDialogProps = {
  readonly job: ShownJob;
  readonly from: 'start' | 'failed';
  readonly onClose: () => void;
};

function unsuccessful({
  failed = 0,
  timed_out: timedOut = 0,
  dead = 0,
  cancelled = 0,
}: NonNullable<ShownJob['counts']>) {
  return failed + timedOut + dead + cancelled;
}

export function RerunDialog({ job, from: proposed, onClose }: RerunDialogProps): JSX.Element {
  const [from, setFrom] = useState(proposed);
  const [reason, setReason] = useState('');
  const [delay, setDelay] = useState('');
  /** The payload of the old job as text; null: it is not there yet, or the token may not read it. */
  const [old, setOld] = useState<string | null>(null);
  const [text, setText] = useState('');
  const [error, setError] = useState<Refusal | null>(null);
  useEffect(() => {
    requestText(`/job/${job.job_id}?include=payload`).then(
      answer => {
        const payload = rawMember(answer, 'payload');
        if (payload === undefined) return;
        const shown = indented(payload);
        setOld(shown);
        setText(shown);
      },
      refusal => {
        if (!(refusal instanceof Refusal)) throw refusal;
        setError(refusal);
      },
    );
  }, []);
  // A payload that was not edited is not sent: the service takes the stored one.
  const isEdited = old !== null && text !== old && from === 'start';
  const edited = isEdited ? readPayload(text) : null;
  const title = `Rerun ${jobTitle(job)}`;
  const confirm = () =>
    act(title, async () => {
      const body = {
        ...(isRun(job) && { from }),
        ...(edited?.ok && { payload: edited.value }),
        ...(reason !== '' && { reason }),
        ...(delay !== '' && { delay }),
      };
      const { job_id: id } = await request<{ job_id: string }>('POST', `/job/${job.job_id}/rerun`, body);
      const to = href(isRun(job) ? 'run' : 'job', id);
      go(to);
      return { text: 'The new job is accepted.', link: { text: 'Open it', href: to } };
    });
  return (
    <Confirm title={title} verb="Rerun" disabled={edited?.ok === false} onConfirm={confirm} onClose={onClose}>
      {error && <Problem error={error} />}
      {isRun(job) && (
        <Select
          label="From"
          value={from}
          options={[
            { value: 'failed', text: 'the failed jobs: reuse the results of those that succeeded' },
            { value: 'start', text: 'the start: run everything again' },
          ]}
          onChange={value => setFrom(value === 'failed' ? 'failed' : 'start')}
        />
      )}
      {isRun(job) && from === 'failed' && job.counts && (
        <p>
          {counted(job.counts['succeeded'] ?? 0, 'job')} succeeded and {job.counts['succeeded'] === 1 ? 'is' : 'are'}{' '}
          reused. {counted(unsuccessful(job.counts), 'job')} {unsuccessful(job.counts) === 1 ? 'runs' : 'run'} again,
          and the steps after {unsuccessful(job.counts) === 1 ? 'it' : 'them'}.
        </p>
      )}
      {from === 'start' && old !== null && (
        <Field label="Payload" error={edited?.ok === false ? edited.problem : undefined}>
          {id => (
            <textarea
              id={id}
              class="payload-editor"
              rows={Math.min(16, Math.max(4, text.split('\n').length))}
              spellcheck={false}
              value={text}
              onInput={event => setText(event.currentTarget.value)}
            />
          )}
        </Field>
      )}
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the new job." />
      <Field
        label="Delay"
        value={delay}
        onInput={setDelay}
        placeholder="10m"
        hint="Optional. A duration such as 30s, 10m or 2h."
      />
    </Confirm>
  );
}
