// The question before a pause: how much it holds, for how long, why, and what becomes of new calls.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../core/actions.ts';
import { Refusal, request } from '../core/api.ts';
import { may } from '../core/session.ts';
import { Confirm, Field, Select } from './index.ts';
import { heldText, type OpenCount, type PauseTarget, pauseText, targetText } from './pause-words.ts';

const lengths = [
  { value: '', text: 'until it is resumed' },
  { value: '10m', text: '10 minutes' },
  { value: '1h', text: '1 hour' },
  { value: '8h', text: '8 hours' },
  { value: '1d', text: '1 day' },
  { value: 'other', text: 'another duration' },
  { value: 'time', text: 'until a time' },
];

/** The route that begins or ends a pause of the target. */
export function pausePath({ kind, name }: PauseTarget, deed: 'pause' | 'resume'): string {
  return kind === 'system' ? `/control/system/${deed}` : `/control/${kind}/${encodeURIComponent(name!)}/${deed}`;
}

export function PauseDialog(props: { target: PauseTarget; onDone: () => void; onClose: () => void }): JSX.Element {
  const { target } = props;
  const [reason, setReason] = useState('');
  const [length, setLength] = useState('');
  const [duration, setDuration] = useState('');
  const [time, setTime] = useState('');
  const [rejects, setRejects] = useState(false);
  // The end of the pause is still open: its duration or time has not been entered.
  const isOpen = (length === 'other' && duration.trim() === '') || (length === 'time' && time === '');
  // The field gives a time in the time zone of the browser; the API gets it in UTC.
  const end = () => {
    if (length === 'time') return { until: new Date(time).toISOString() };
    return length === '' ? {} : { for: length === 'other' ? duration.trim() : length };
  };
  const confirm = async () => {
    const { command } = target;
    const done = await act(`Pause ${targetText(target)}`, async () => {
      await request('POST', pausePath(target, 'pause'), {
        ...(command !== undefined && { command }),
        ...(reason !== '' && { reason }),
        ...end(),
        ...(rejects && { reject: true }),
      });
      return 'Running jobs continue; no further job starts.';
    });
    if (done) props.onDone();
    return done;
  };
  return (
    <Confirm
      title={`Pause ${targetText(target)}?`}
      verb="Pause"
      danger
      disabled={isOpen}
      onConfirm={confirm}
      onClose={props.onClose}
    >
      <p>{pauseText(target)}</p>
      {may('jobs:ro', 'jobs:rw') && <Held target={target} />}
      <Select label="For how long" value={length} options={lengths} onChange={setLength} />
      {length === 'other' && (
        <Field
          label="Duration"
          value={duration}
          onInput={setDuration}
          placeholder="30m"
          hint="Such as 30s, 45m, 2h or 3d."
        />
      )}
      {length === 'time' && (
        <Field label="Until" type="datetime-local" value={time} onInput={setTime} hint="In your time zone." />
      )}
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Every job that waits shows it." />
      <label class="option">
        <input type="checkbox" checked={rejects} onChange={event => setRejects(event.currentTarget.checked)} />
        Refuse new calls with 503 meanwhile, instead of accepting them to wait
      </label>
    </Confirm>
  );
}

/** What the pause would hold now. */
function Held({ target }: { target: PauseTarget }): JSX.Element {
  const [text, setText] = useState('Counting…');
  useEffect(() => {
    request<{ counts: readonly OpenCount[] }>('GET', '/counts').then(
      ({ counts }) => setText(heldText(target, counts)),
      error => {
        if (!(error instanceof Refusal)) throw error;
        setText(`The jobs cannot be counted now: ${error.message}`);
      },
    );
  }, []);
  return (
    <p class="many-count" aria-live="polite">
      {text}
    </p>
  );
}
