// Pauses of plugins, commands and pipelines: what they are, and the buttons that begin and end them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../core/actions.ts';
import { request } from '../core/api.ts';
import { may } from '../core/session.ts';
import { Button, Confirm, Field, Select, Time } from './index.ts';

/** A pause, as in `GET /pauses`. */
export type PauseView = {
  readonly target: {
    readonly kind: 'system' | 'pipeline' | 'plugin';
    readonly name?: string;
    readonly command?: string;
  };
  readonly reason?: string;
  readonly by: string;
  readonly since: string;
  readonly until?: string;
  readonly reject?: true;
};

export type PauseTarget = {
  readonly kind: 'pipeline' | 'plugin';
  readonly name: string;
  readonly command?: string;
};

const lengths = [
  { value: '', text: 'until it is resumed' },
  { value: '10m', text: '10 minutes' },
  { value: '1h', text: '1 hour' },
  { value: '8h', text: '8 hours' },
  { value: '1d', text: '1 day' },
];

/** The pause of this target itself; a pause of the whole service is another. */
export function pauseOf(pauses: readonly PauseView[] | undefined, target: PauseTarget): PauseView | undefined {
  return pauses?.find(
    ({ target: { kind, name, command } }) => kind === target.kind && name === target.name && command === target.command,
  );
}

/** Who paused it, since when, until when, and why. */
export function PauseNote({ pause }: { pause: PauseView }): JSX.Element {
  const { by, since, until, reason, reject } = pause;
  return (
    <span class="pause-note">
      <span aria-hidden="true">‖</span> {by === 'breaker' ? 'Breaker open' : `Paused by ${by}`}, <Time at={since} />
      {until && (
        <>
          , ends <Time at={until} />
        </>
      )}
      {reject && ', refuses calls'}
      {reason && `: ${reason}`}
    </span>
  );
}

/** Pauses or resumes the target. Absent if the token may not. */
export function PauseButton(props: {
  target: PauseTarget;
  pause: PauseView | undefined;
  onDone: () => void;
}): JSX.Element | null {
  const [asks, setAsks] = useState(false);
  if (!may('control:rw')) return null;
  const { target, pause, onDone } = props;
  const name = target.command === undefined ? target.name : `${target.name} ${target.command}`;
  const resume = async () => {
    if (await act(`Resumed ${name}`, () => post(target, 'resume', {}))) onDone();
  };
  return (
    <>
      {pause ? (
        <Button onClick={() => void resume()} label={`Resume ${name}`}>
          Resume
        </Button>
      ) : (
        <Button onClick={() => setAsks(true)} label={`Pause ${name}`}>
          Pause…
        </Button>
      )}
      {asks && <PauseQuestion target={target} name={name} onDone={onDone} onClose={() => setAsks(false)} />}
    </>
  );
}

function PauseQuestion(props: {
  target: PauseTarget;
  name: string;
  onDone: () => void;
  onClose: () => void;
}): JSX.Element {
  const { target, name } = props;
  const [length, setLength] = useState('');
  const [reason, setReason] = useState('');
  const [rejects, setRejects] = useState(false);
  const confirm = async () => {
    const body = { ...(length && { for: length }), ...(reason && { reason }), ...(rejects && { reject: true }) };
    const done = await act(`Paused ${name}`, () => post(target, 'pause', body));
    if (done) props.onDone();
    return done;
  };
  return (
    <Confirm title={`Pause ${name}`} verb="Pause" onConfirm={confirm} onClose={props.onClose}>
      <p>Nothing new starts until it is resumed, even after a restart. Running jobs continue.</p>
      <Select label="For" value={length} options={lengths} onChange={setLength} />
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the pause." />
      <label class="pause-check">
        <input type="checkbox" checked={rejects} onChange={event => setRejects(event.currentTarget.checked)} />
        Refuse new calls, instead of accepting them to wait
      </label>
    </Confirm>
  );
}

function post({ kind, name, command }: PauseTarget, deed: 'pause' | 'resume', body: object): Promise<undefined> {
  const given = { ...body, ...(command !== undefined && { command }) };
  return request('POST', `/control/${kind}/${encodeURIComponent(name)}/${deed}`, given).then(() => undefined);
}
