// The question before an action on many jobs. A dry run counts the jobs first.
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { act } from '../core/actions.ts';
import { Refusal, request } from '../core/api.ts';
import { count } from '../core/format.ts';
import { href } from '../core/router.ts';
import { Field } from './controls.tsx';
import { Confirm } from './dialog.tsx';
import { limitMax, perSecondMax, typedNumber } from './pace.ts';
import { Problem } from './page.tsx';
import { JobId } from './values.tsx';

export type ManyDeed = 'cancel' | 'rerun' | 'run_now';
/** What `POST /actions` does, and to which jobs. `where`: as in docs/engine.md#actions. */
export type ManyRequest = {
  readonly title: string;
  readonly verb: ManyDeed;
  /** The filter in words. */
  readonly filter: string;
  readonly where: Readonly<Record<string, unknown>>;
  /** Asks whether jobs inside runs match, too. */
  readonly asksChildren?: boolean;
};

const asked = signal<(ManyRequest & { readonly answer: (actionId: string | null) => void }) | null>(null);
const verbs: Readonly<Record<ManyDeed, string>> = { cancel: 'Cancel', rerun: 'Rerun', run_now: 'Run now' };

/** Counts the jobs that match, shows the number, and acts if the user agrees. Returns the id of the action; null: not done. */
export function confirmMany(request: ManyRequest): Promise<string | null> {
  return new Promise(answer => {
    asked.value = { ...request, answer };
  });
}

type DryRun = { readonly matched: number; readonly sample: readonly string[]; readonly up_to: string };

/** The dialog of `confirmMany`; the shell shows it once. */
export function ManyDialog(): JSX.Element | null {
  const { value } = asked;
  return value === null ? null : <ManyQuestion key={value.title} {...value} />;
}

function ManyQuestion(props: ManyRequest & { answer: (actionId: string | null) => void }): JSX.Element {
  const { title, verb, answer } = props;
  const [dry, setDry] = useState<DryRun | Refusal | null>(null);
  const [reason, setReason] = useState('');
  const [children, setChildren] = useState(false);
  const [reuses, setReuses] = useState(false);
  const [limitText, setLimit] = useState('');
  const [perSecondText, setPerSecond] = useState('');
  const limit = typedNumber(limitText, limitMax);
  const perSecond = typedNumber(perSecondText, perSecondMax);
  const where = children ? { ...props.where, children: true } : props.where;
  const asking = useRef<AbortController | null>(null);
  /** Only the newest dry run counts: an older one has counted other jobs. */
  const ask = () => {
    asking.current?.abort();
    const started = new AbortController();
    const { signal } = started;
    asking.current = started;
    setDry(null);
    request<DryRun>('POST', '/actions', { do: verb, where, dry_run: true }, signal).then(
      counted => {
        if (!signal.aborted) setDry(counted);
      },
      error => {
        if (signal.aborted) return;
        if (!(error instanceof Refusal)) throw error;
        setDry(error);
      },
    );
  };
  // The number on the screen belongs to the other choice. A layout effect removes it before the user can confirm it.
  useLayoutEffect(ask, [children]);
  useEffect(() => () => asking.current?.abort(), []);
  const close = (actionId: string | null) => {
    // The answer of an action may come when another question is open.
    if (asked.peek()?.answer === answer) asked.value = null;
    answer(actionId);
  };
  useEffect(() => {
    const leave = () => close(null);
    addEventListener('hashchange', leave);
    return () => {
      removeEventListener('hashchange', leave);
      // If the session has ended, the question is dropped, so that the next user who signs in does not see it.
      if (asked.peek()?.answer === answer) leave();
    };
  }, []);
  const run = async () => {
    let id: string | null = null;
    const done = await act(title, async () => {
      const given = {
        do: verb,
        where,
        ...(reuses && { from: 'failed' }),
        ...(limit.value !== null && { limit: limit.value }),
        ...(perSecond.value !== null && { per_second: perSecond.value }),
        ...(reason !== '' && { reason }),
      };
      const { action_id, matched } = await request<{ action_id: string; matched: number }>('POST', '/actions', given);
      id = action_id;
      const link = { text: 'Show the action', href: href('job', action_id) };
      return { text: `${count(matched)} matched.`, link };
    });
    if (done) close(id);
    return false;
  };
  const counted = dry !== null && !(dry instanceof Refusal) ? dry : null;
  const taken = counted && Math.min(counted.matched, limit.value ?? counted.matched);
  return (
    <Confirm
      title={title}
      verb={taken === null ? verbs[verb] : `${verbs[verb]} ${count(taken)}`}
      danger={verb === 'cancel'}
      disabled={!taken || limit.error !== undefined || perSecond.error !== undefined}
      onConfirm={run}
      onClose={() => close(null)}
    >
      {dry instanceof Refusal ? (
        <Problem error={dry} retry={ask} />
      ) : (
        <>
          <p class="muted">Filter: {props.filter}.</p>
          <p class="many-count" aria-live="polite">
            {counted === null
              ? 'Counting…'
              : `${count(counted.matched)} ${counted.matched === 1 ? 'job matches' : 'jobs match'}.`}
          </p>
          {verb !== 'rerun' && <p class="muted">Jobs that have ended are left as they are.</p>}
          {counted && counted.sample.length > 0 && (
            <p class="many-sample">
              <span class="muted">The oldest: </span>
              {counted.sample.slice(0, 5).map(id => (
                <JobId key={id} id={id} />
              ))}
            </p>
          )}
          {props.asksChildren && (
            <label class="option">
              <input type="checkbox" checked={children} onChange={event => setChildren(event.currentTarget.checked)} />
              Also jobs inside runs
            </label>
          )}
          {verb === 'rerun' && (
            <label class="option">
              <input type="checkbox" checked={reuses} onChange={event => setReuses(event.currentTarget.checked)} />
              Runs reuse the results of their jobs that succeeded
            </label>
          )}
          <div class="time-fields">
            <Field
              label="Jobs at most"
              value={limitText}
              onInput={setLimit}
              error={limit.error}
              hint="Optional. The oldest are taken."
            />
            <Field
              label="Jobs a second"
              value={perSecondText}
              onInput={setPerSecond}
              error={perSecond.error}
              hint="Optional. How fast they are taken."
            />
          </div>
          <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with each of these jobs." />
        </>
      )}
    </Confirm>
  );
}
