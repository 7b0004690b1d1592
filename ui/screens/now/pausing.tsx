// Buttons that pause and resume, with the question before a pause.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { request } from '../../core/api.ts';
import { may } from '../../core/session.ts';
import { Button, Confirm, Field, Select } from '../../parts/index.ts';
import type { PauseTarget } from './overview.ts';

/** The target in words: `the plugin mailer`, `the service`. */
export function targetText({ kind, name, command }: PauseTarget): string {
  if (kind === 'system') return 'the service';
  return `the ${kind} ${name}${command === undefined ? '' : `, command ${command}`}`;
}

function pathOf({ kind, name }: PauseTarget, what: 'pause' | 'resume'): string {
  return kind === 'system' ? `/control/system/${what}` : `/control/${kind}/${encodeURIComponent(name!)}/${what}`;
}

/** Ends the pause of this target, and says so. Returns whether it was accepted. */
export function resume(target: PauseTarget): Promise<boolean> {
  const { command } = target;
  return act(`Resume ${targetText(target)}`, async () => {
    const body = command === undefined ? {} : { command };
    const { resumed } = await request<{ resumed: boolean }>('POST', pathOf(target, 'resume'), body);
    return resumed ? 'Jobs start again.' : 'It was not paused.';
  });
}

export function ResumeButton({ target, onDone }: { target: PauseTarget; onDone: () => void }): JSX.Element | null {
  if (!may('control:rw')) return null;
  return (
    <Button onClick={() => void resume(target).then(onDone)} label={`Resume ${targetText(target)}`}>
      Resume
    </Button>
  );
}

const lengths = [
  { value: '', text: 'until it is resumed' },
  { value: '10m', text: '10 minutes' },
  { value: '1h', text: '1 hour' },
  { value: '8h', text: '8 hours' },
  { value: '1d', text: '1 day' },
];

export function PauseButton(props: { target: PauseTarget; onDone: () => void; text?: string }): JSX.Element | null {
  const { target, onDone } = props;
  const [isAsked, setAsked] = useState(false);
  const [reason, setReason] = useState('');
  const [length, setLength] = useState('');
  const [rejects, setRejects] = useState(false);
  if (!may('control:rw')) return null;
  const pause = async () => {
    const done = await act(`Pause ${targetText(target)}`, async () => {
      const { command } = target;
      await request('POST', pathOf(target, 'pause'), {
        ...(command !== undefined && { command }),
        ...(reason !== '' && { reason }),
        ...(length !== '' && { for: length }),
        ...(rejects && { reject: true }),
      });
      return 'Running jobs continue; no further job starts.';
    });
    onDone();
    return done;
  };
  return (
    <>
      <Button onClick={() => setAsked(true)} label={`Pause ${targetText(target)}`}>
        {props.text ?? 'Pause'}
      </Button>
      {isAsked && (
        <Confirm
          title={`Pause ${targetText(target)}?`}
          verb="Pause"
          danger
          onConfirm={pause}
          onClose={() => setAsked(false)}
        >
          <p>
            Running jobs continue. Jobs that have not started wait, and new calls are accepted unless you refuse them.
          </p>
          <Select label="For how long" value={length} options={lengths} onChange={setLength} />
          <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Every job that waits shows it." />
          <label class="option">
            <input type="checkbox" checked={rejects} onChange={event => setRejects(event.currentTarget.checked)} />
            Refuse new calls with 503 meanwhile
          </label>
        </Confirm>
      )}
    </>
  );
}
