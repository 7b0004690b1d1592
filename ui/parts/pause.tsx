// Pauses of plugins, commands, pipelines and the service: what they are, and the buttons that begin and end them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { act } from '../core/actions.ts';
import { request } from '../core/api.ts';
import { now } from '../core/format.ts';
import { may } from '../core/session.ts';
import { Button, Time } from './index.ts';
import { PauseDialog, pausePath } from './pause-dialog.tsx';
import { isHalfOpen, type PauseTarget, type PauseView, targetText } from './pause-words.ts';

/** The pause of exactly this target. A pause of the whole service does not count. */
export function pauseOf(pauses: readonly PauseView[] | undefined, target: PauseTarget): PauseView | undefined {
  return pauses?.find(
    ({ target: { kind, name, command } }) => kind === target.kind && name === target.name && command === target.command,
  );
}

/**
 * Says who paused the target, since when, until when, and why. `capturedAt`: the time of the service when it listed the pause; if absent, the clock
 * of the browser says whether a breaker is half open.
 */
export function PauseNote({ pause, capturedAt }: { pause: PauseView; capturedAt?: string | undefined }): JSX.Element {
  const { by, since, until, reason, reject } = pause;
  if (isHalfOpen(pause, capturedAt === undefined ? now.value : Date.parse(capturedAt)))
    return (
      <span class="pause-note">
        <span aria-hidden="true">◐</span> Breaker half open: the next job tries
      </span>
    );
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

/** Ends the pause of this target, and says so in a toast. Returns whether the service accepted the call. */
export function resume(target: PauseTarget): Promise<boolean> {
  const { command } = target;
  return act(`Resume ${targetText(target)}`, async () => {
    const body = command === undefined ? {} : { command };
    const { resumed } = await request<{ resumed: boolean }>('POST', pausePath(target, 'resume'), body);
    return resumed ? 'Jobs start again.' : 'It was not paused.';
  });
}

/** A button that ends the pause of the target. Absent if the token lacks the scope for it. */
export function ResumeButton({ target, onDone }: { target: PauseTarget; onDone: () => void }): JSX.Element | null {
  if (!may('control:rw')) return null;
  return (
    <Button onClick={() => void resume(target).then(onDone)} label={`Resume ${targetText(target)}`}>
      Resume
    </Button>
  );
}

/** A button that pauses the target after a question or, if there is a `pause`, ends it. Absent if the token lacks the scope for it. */
export function PauseButton(props: {
  target: PauseTarget;
  pause?: PauseView | undefined;
  onDone: () => void;
  text?: string;
}): JSX.Element | null {
  const [asks, setAsks] = useState(false);
  if (!may('control:rw')) return null;
  const { target, pause, onDone } = props;
  return (
    <>
      {pause ? (
        <ResumeButton target={target} onDone={onDone} />
      ) : (
        <Button onClick={() => setAsks(true)} label={`Pause ${targetText(target)}`}>
          {props.text ?? 'Pause…'}
        </Button>
      )}
      {asks && <PauseDialog target={target} onDone={onDone} onClose={() => setAsks(false)} />}
    </>
  );
}
