// Values: statuses, ids, times, durations, texts.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { copyText } from '../core/clipboard.ts';
import { ago, bytes, duration, exact, now, shortId } from '../core/format.ts';
import { href } from '../core/router.ts';
import { timesAreExact } from '../core/times.ts';
import { Button } from './controls.tsx';

const symbols: Readonly<Record<string, string>> = {
  queued: '○',
  running: '◐',
  succeeded: '✓',
  failed: '✕',
  timed_out: '◷',
  dead: '☒',
  cancelled: '⊘',
};

const announceEveryMs = 5_000;

/** A text for screen readers, which announce its changes at most every 5 seconds. */
export function Announce({ text }: { text: string }): JSX.Element {
  const [said, say] = useState('');
  const last = useRef(0);
  useEffect(() => {
    if (text === said) return;
    const timer = setTimeout(
      () => {
        last.current = Date.now();
        say(text);
      },
      Math.max(0, last.current + announceEveryMs - Date.now()),
    );
    return () => clearTimeout(timer);
  }, [text, said]);
  return (
    <span class="offscreen" role="status">
      {said}
    </span>
  );
}

/** The name of a status in words. */
export function statusText(status: string): string {
  return status.replaceAll('_', ' ');
}

/** A status as symbol, word and colour. */
export function Status({ status }: { status: string }): JSX.Element {
  return (
    <span class={`status status-${status}`}>
      <span class="status-symbol" aria-hidden="true">
        {symbols[status] ?? '·'}
      </span>
      {statusText(status)}
    </span>
  );
}

/** The heading of a column of statuses, which have only their symbols on narrow pages. */
export function SymbolHead({ children }: { children: string }): JSX.Element {
  return <span class="symbol-head">{children}</span>;
}

/** The id of a job, short, with a link and a button that copies it. */
export function JobId({ id }: { id: string }): JSX.Element {
  return (
    <span class="job-id">
      <a href={href('job', id)} title={id}>
        {shortId(id)}
      </a>
      <Copy text={id} label={`Copy the id ${id}`} />
    </span>
  );
}

/** A time: how long ago, with the exact time as title, or the other way round (`timesAreExact`). */
export function Time({ at }: { at: string | Date | null | undefined }): JSX.Element {
  if (at === null || at === undefined) return <span class="muted">–</span>;
  const date = typeof at === 'string' ? new Date(at) : at;
  const isExact = timesAreExact.value;
  const relative = isExact ? null : ago(date, now.value);
  return (
    <time class="time" dateTime={date.toISOString()} title={isExact ? ago(date, Date.now()) : exact(date)}>
      {relative ?? exact(date)}
    </time>
  );
}

export function Duration({ us }: { us: number | null | undefined }): JSX.Element {
  if (us === null || us === undefined) return <span class="muted">–</span>;
  return (
    <span class="number" title={`${us} µs`}>
      {duration(us)}
    </span>
  );
}

/** A button that copies a text. */
export function Copy({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  const [said, say] = useState<string | null>(null);
  return (
    <button
      type="button"
      class="copy"
      aria-label={said ?? label}
      title={said ?? label}
      onClick={async () => {
        say((await copyText(text)) ? 'Copied' : 'The browser does not let the page copy');
        setTimeout(() => say(null), 1_500);
      }}
    >
      {said === null ? <CopyIcon /> : <span aria-hidden="true">{said === 'Copied' ? '✓' : '✕'}</span>}
    </button>
  );
}

function CopyIcon(): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d="M5.5 5.5h8v8h-8zM3.5 10.5h-1v-8h8v1" />
    </svg>
  );
}

/** The number of characters of a longer text that are shown until the user asks for all. */
export const codeCharactersMax = 65_536;

/** A text that scrolls must be reachable by keyboard. */
const scrolls = { tabIndex: 0 };

/**
 * A text in a box of its own, with a button that copies it: JSON such as a payload, a result or settings, or what an attempt wrote to stderr. Only
 * the beginning of a long text is shown until the user asks for all of it.
 */
export function Code({ text, label }: { text: string; label?: string }): JSX.Element {
  const [isWhole, showWhole] = useState(false);
  const isCut = text.length > codeCharactersMax && !isWhole;
  return (
    <div class="code">
      <Copy text={text} label={`Copy ${label ?? 'the text'}`} />
      <section class="code-text" aria-label={label ?? 'Text'} {...scrolls}>
        <pre>{isCut ? text.slice(0, codeCharactersMax) : text}</pre>
      </section>
      {isCut && <Button onClick={() => showWhole(true)}>Load all ({bytes(text.length)})</Button>}
    </div>
  );
}
