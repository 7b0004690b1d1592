// Dialogs, and questions with a button that acts.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
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
