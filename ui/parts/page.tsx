// The frame of a screen: title, actions and content. Also what stands in place of content: an error, an empty list, and data that are loading.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Refusal } from '../core/api.ts';
import { Button } from './controls.tsx';

/** Whether a screen has been shown since the page was loaded. */
let hasShown = false;

export function Page(props: {
  title: string;
  subtitle?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    // Moves the focus to the new screen, unless an element of the screen has taken it already, such as a field.
    const from = document.activeElement;
    if (hasShown && (from === document.body || from?.closest('.nav'))) document.getElementById('main')?.focus();
    hasShown = true;
    scrollTo(0, 0);
  }, []);
  useEffect(() => {
    document.title = `${props.title} · headgate`;
  }, [props.title]);
  return (
    <main class="page" id="main" tabIndex={-1}>
      <header class="page-head">
        <div class="page-titles">
          <h1>{props.title}</h1>
          {/* A subtitle whose text has not arrived yet keeps its line free, so that the page does not jump. */}
          {'subtitle' in props && <div class="page-subtitle">{props.subtitle}</div>}
        </div>
        {props.actions && <div class="page-actions">{props.actions}</div>}
      </header>
      {props.children}
    </main>
  );
}

/** A part of a screen with a heading. */
export function Section(props: {
  title: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="section">
      <header class="section-head">
        <h2>{props.title}</h2>
        {props.note && <span class="muted">{props.note}</span>}
        {props.actions && <div class="section-actions">{props.actions}</div>}
      </header>
      {props.children}
    </section>
  );
}

/** What was refused, and why. */
export function Problem({ error, retry }: { error: Refusal; retry?: () => void }): JSX.Element {
  const { status, title, detail, retryAfterS } = error;
  return (
    <div class="problem" role="alert">
      <strong>
        {title}
        {status > 0 && <span class="muted"> · {status}</span>}
      </strong>
      {detail !== '' && <p>{detail}</p>}
      {retryAfterS !== null && <p class="muted">The service asks to wait {retryAfterS} s.</p>}
      {retry && <Button onClick={retry}>Try again</Button>}
    </div>
  );
}

/** Stands in place of an empty list. `children` say what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="empty-text">{children}</div>}
    </div>
  );
}

/** Stands where content will be, with the same height, so that the page does not jump. */
export function Loading({ rows = 3 }: { rows?: number }): JSX.Element {
  return (
    <div class="loading" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div class="loading-row" key={row} />
      ))}
    </div>
  );
}
