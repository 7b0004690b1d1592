// Dialogs, and questions with a button that acts.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { freeze } from '../core/resource.ts';
import { Button } from './controls.tsx';

/** A modal dialog; Escape closes it. Updates of the page wait until it is closed. */
export function Dialog(props: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  wide?: boolean;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(freeze, []);
  useLayoutEffect(() => {
    const element = dialog.current!;
    element.showModal();
    // `close` returns the focus to where it was. Without it, the removal of the dialog would lose the focus.
    return () => element.close();
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

/** A question with a button that calls `onConfirm`. The question then closes, unless `onConfirm` returns false. */
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
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  const confirm = async () => {
    setBusy(true);
    const done = await props.onConfirm();
    setBusy(false);
    // If this question is gone by now, `onClose` could close another one that is open instead.
    if (done !== false && !isGone.current) props.onClose();
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
