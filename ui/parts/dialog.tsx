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
    // The focus returns to where it was; a removal alone would lose it.
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

/** A question with a button that acts. `onConfirm` closes it, unless it returns false, or the question is gone by then. */
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
    // Another question may be open instead.
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
