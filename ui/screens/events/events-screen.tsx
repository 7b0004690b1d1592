// Events as they happen: filtered by kind, by text, and frozen at will. Gaps are shown.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count } from '../../core/format.ts';
import { useKeys } from '../../core/keys.ts';
import { connection, onEvent } from '../../core/live.ts';
import { isFrozen } from '../../core/resource.ts';
import { go, href, place, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import { Button, Empty, Field, JobId, Page, RowList, Time } from '../../parts/index.ts';
import { detailOf, gapText, type HeardEvent, keptMax, kinds, subjectOf, withNew } from './event-list.ts';

/** New events are shown together, this often. */
const showMs = 250;

export function EventsScreen(): JSX.Element {
  const { query } = place.value;
  const named = (query.get('types') ?? '').split(',');
  const wantedKinds: readonly string[] = kinds.filter(kind => named.includes(kind));
  const words = query.get('text') ?? '';
  const [frozen, setFrozen] = useState(false);
  const { shown, waiting, clear } = useHeard(wantedKinds, frozen);
  useKeys({
    f: { text: 'freeze, or go on', run: () => setFrozen(!frozen) },
    '/': { text: 'filter by text', run: () => document.querySelector<HTMLInputElement>('.events-text input')?.focus() },
  });
  if (!may('events:ro', 'events:rw'))
    return (
      <Page title="Events">
        <Empty title="This token may not read events">It needs the scope events:ro or events:rw.</Empty>
      </Page>
    );
  const wanted = words.trim().toLowerCase();
  const isWanted = (event: HeardEvent) =>
    (wantedKinds.length === 0 || wantedKinds.some(kind => event.type.startsWith(`${kind}.`))) &&
    (wanted === '' || textOf(event).includes(wanted));
  const fitting = shown.filter(event => event.type === 'gap' || isWanted(event));
  const toggle = (kind: string) => {
    const next = wantedKinds.includes(kind) ? wantedKinds.filter(one => one !== kind) : [...wantedKinds, kind];
    setQuery({ types: next.join(',') });
  };
  return (
    <Page
      title="Events"
      subtitle={stateText(frozen || waiting > 0, waiting)}
      actions={
        <>
          <Button pressed={frozen} onClick={() => setFrozen(!frozen)} title="f">
            {frozen ? `Go on${waiting > 0 ? ` (${count(waiting)} new)` : ''}` : 'Freeze'}
          </Button>
          <Button onClick={clear} disabled={shown.length === 0}>
            Clear
          </Button>
        </>
      }
    >
      <div class="filter-row">
        <Field
          label="Text"
          type="search"
          class="events-text"
          value={words}
          onInput={text => setQuery({ text })}
          placeholder="plugin, job, error"
        />
        <fieldset class="button-group" aria-label="Kinds of events">
          <Button pressed={wantedKinds.length === 0} onClick={() => setQuery({ types: '' })}>
            all
          </Button>
          {kinds.map(kind => (
            <Button key={kind} pressed={wantedKinds.includes(kind)} onClick={() => toggle(kind)}>
              {kind}
            </Button>
          ))}
        </fieldset>
      </div>
      {fitting.length === 0 ? (
        <Empty title={shown.length > 0 ? 'No event matches' : 'No event yet'}>
          {shown.length > 0
            ? 'Use other words or kinds.'
            : 'Events appear here as they happen. Run a command to see some.'}
        </Empty>
      ) : (
        <RowList
          label="Events, newest first"
          rows={fitting}
          rowKey={({ key }) => String(key)}
          onOpen={open}
          rowClass={classOf}
          render={event => <EventRow event={event} />}
        />
      )}
      {shown.length === keptMax && <p class="muted">The newest {keptMax} events are kept.</p>}
    </Page>
  );
}

function stateText(frozen: boolean, waiting: number): string {
  if (frozen) return waiting === 0 ? 'Frozen: no new events' : `Frozen: ${count(waiting)} new events wait`;
  return {
    live: 'As they happen',
    connecting: 'Connecting…',
    lost: 'The connection is lost; trying again',
    off: 'Not connected',
  }[connection.value];
}

/** The events since the screen was opened. While the screen is frozen (`frozen`), or all updates wait (`isFrozen`), new events wait. */
function useHeard(wanted: readonly string[], frozen: boolean) {
  const [shown, setShown] = useState<readonly HeardEvent[]>([]);
  const [waiting, setWaiting] = useState(0);
  const pending = useRef<readonly HeardEvent[]>([]);
  const missed = useRef(0);
  const nextKey = useRef(1);
  const types = (wanted.length === 0 ? kinds : wanted).map(kind => `${kind}.*`);
  useEffect(
    () =>
      onEvent(
        types,
        event => {
          missed.current++;
          pending.current = [...pending.current.slice(1 - keptMax), { ...event, key: nextKey.current++ }];
        },
        { each: true },
      ),
    [types.join()],
  );
  useEffect(() => {
    const timer = setInterval(() => {
      if (frozen || isFrozen()) {
        setWaiting(missed.current);
        return;
      }
      setWaiting(0);
      missed.current = 0;
      if (pending.current.length === 0) return;
      const heard = pending.current;
      pending.current = [];
      setShown(kept => withNew(kept, heard));
    }, showMs);
    return () => clearInterval(timer);
  }, [frozen]);
  return { shown, waiting, clear: () => setShown([]) };
}

function textOf(event: HeardEvent): string {
  return `${event.type} ${JSON.stringify(event.data)}`.toLowerCase();
}

function jobOf({ data }: HeardEvent): string | null {
  return typeof data['job_id'] === 'string' ? data['job_id'] : null;
}

/** Opens the job of the event or, if the event has no job, its subject. */
function open(event: HeardEvent): void {
  const job = jobOf(event);
  const to = job === null ? subjectOf(event).href : href('job', job);
  if (to !== undefined) go(to);
}

function classOf({ type }: HeardEvent): string {
  if (type === 'gap') return 'event event-gap';
  return `event ${/failed|timed_out|dead|rejected/.test(type) ? 'event-bad' : ''}`;
}

function EventRow({ event }: { event: HeardEvent }): JSX.Element {
  if (event.type === 'gap') return <>{gapText(event)}</>;
  const { type, data } = event;
  const subject = subjectOf(event);
  const job = jobOf(event);
  const detail = detailOf(event);
  return (
    <>
      <span class="event-type">{type}</span>
      <span class="event-subject">{subject.href ? <a href={subject.href}>{subject.text}</a> : subject.text}</span>
      <span class="event-job">{job !== null && <JobId id={job} />}</span>
      <span class="event-detail" title={detail}>
        {detail}
      </span>
      <span class="event-time muted">{typeof data['at'] === 'string' && <Time at={data['at']} />}</span>
    </>
  );
}
