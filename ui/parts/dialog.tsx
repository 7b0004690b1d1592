// Dialogs, and the question before what touches many jobs: first a dry run, which counts them.
import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from '../core/actions.ts';
import { Refusal, request } from '../core/api.ts';
import { count } from '../core/format.ts';
import { freeze } from '../core/resource.ts';
import { href } from '../core/router.ts';
import { Button, Field } from './controls.tsx';
import { Problem } from './page.tsx';
import { JobId } from './values.tsx';

/** A modal dialog; Escape closes it. Updates of the page wait until it is closed. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const release = freeze();
    dialog.current!.showModal();
    return release;
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${props.wide ? 'dialog-wide' : ''}`}
      aria-label={props.title}
      onCancel={event => {
        event.preventDefault();
        props.onClose();
      }}
    >
      <header class="dialog-head">
        <h2>{props.title}</h2>
        <Button kind="plain" onClick={props.onClose} label="Close">
          ×
        </Button>
      </header>
      <div class="dialog-body">{props.children}</div>
      {props.actions && <footer class="dialog-actions">{props.actions}</footer>}
    </dialog>
  );
}

/** A question with a button that acts. `onConfirm` closes it, unless it returns false. */
export function Confirm(props: {
  title: string;
  verb: string;
  danger?: boolean;
  disabled?: boolean;
  onConfirm: () => Promise<boolean | undefined>;
  onClose: () => void;
  children: ComponentChildren;
}): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    const done = await props.onConfirm();
    setBusy(false);
    if (done !== false) props.onClose();
  };
  return (
    <Dialog
      title={props.title}
      onClose={props.onClose}
      actions={
        <>
          <Button onClick={props.onClose}>Back</Button>
          <Button
            kind={props.danger ? 'danger' : 'primary'}
            disabled={isBusy || props.disabled === true}
            onClick={() => void confirm()}
          >
            {props.verb}
          </Button>
        </>
      }
    >
      {props.children}
    </Dialog>
  );
}

export type ManyDeed = 'cancel' | 'rerun' | 'run_now';
/** What `POST /actions` does, and to which jobs. `where`: as in docs/http.md. */
export type ManyRequest = {
  readonly title: string;
  readonly verb: ManyDeed;
  /** The filter in words. */
  readonly filter: string;
  readonly where: Readonly<Record<string, unknown>>;
  /** For `rerun`: `failed` reuses the jobs of a run that succeeded. */
  readonly from?: 'start' | 'failed';
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
  const { title, verb, from, answer } = props;
  const [dry, setDry] = useState<DryRun | Refusal | null>(null);
  const [reason, setReason] = useState('');
  const [children, setChildren] = useState(false);
  const where = children ? { ...props.where, children: true } : props.where;
  const body = { do: verb, where, ...(from && { from }) };
  const ask = () => {
    setDry(null);
    request<DryRun>('POST', '/actions', { ...body, dry_run: true }).then(setDry, error => {
      if (!(error instanceof Refusal)) throw error;
      setDry(error);
    });
  };
  useEffect(ask, [children]);
  const close = (actionId: string | null) => {
    asked.value = null;
    answer(actionId);
  };
  useEffect(() => {
    const leave = () => close(null);
    addEventListener('hashchange', leave);
    return () => removeEventListener('hashchange', leave);
  }, []);
  const run = async () => {
    let id: string | null = null;
    const done = await act(title, async () => {
      const given = { ...body, ...(reason !== '' && { reason }) };
      const { action_id, matched } = await request<{ action_id: string; matched: number }>('POST', '/actions', given);
      id = action_id;
      const link = { text: 'Show the action', href: href('job', action_id) };
      return { text: `${count(matched)} matched.`, link };
    });
    if (done) close(id);
    return false;
  };
  const counted = dry !== null && !(dry instanceof Refusal) ? dry : null;
  return (
    <Confirm
      title={title}
      verb={counted === null ? verbs[verb] : `${verbs[verb]} ${count(counted.matched)}`}
      danger={verb === 'cancel'}
      disabled={counted === null || counted.matched === 0}
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
          <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with each of these jobs." />
        </>
      )}
    </Confirm>
  );
}
