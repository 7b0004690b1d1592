// The groups of failed jobs: how many jobs, since when, with which errors; and what can be done with a group.
import type { JSX } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { count, counted } from '../../core/format.ts';
import { useKeys } from '../../core/keys.ts';
import { usePages } from '../../core/pages.ts';
import { go, href, place, queryText, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import {
  Button,
  confirmMany,
  Empty,
  Field,
  JobId,
  Loading,
  More,
  Page,
  Problem,
  RowList,
  Select,
  Spark,
  Time,
} from '../../parts/index.ts';
import { workOf } from '../../parts/work.ts';
import { searchOf } from './search-words.ts';

type FailureGroup = {
  readonly fingerprint: string;
  readonly plugin: string;
  readonly command: string;
  readonly pattern: string;
  readonly count: number;
  readonly trend: readonly number[];
  readonly first_at: string;
  readonly last_at: string;
  readonly sample: { readonly job_id: string; readonly message: string };
};

type FailuresAnswer = {
  readonly failures: readonly FailureGroup[];
  readonly total: number;
  readonly indexed_to?: string;
  readonly next_cursor?: string;
};

const hourMs = 3_600_000;
const spans = [
  { value: '', text: 'any time' },
  { value: '1', text: 'the last hour' },
  { value: '24', text: 'the last 24 hours' },
  { value: '168', text: 'the last 7 days' },
];

function presentMinuteMs(): number {
  return Math.floor(Date.now() / 60_000) * 60_000;
}

export function FailuresScreen(): JSX.Element {
  const { query } = place.value;
  const plugin = query.get('plugin') ?? '';
  const command = query.get('command') ?? '';
  const hours = query.get('hours') ?? '';
  // To the minute, so that the path stays the same from one second to the next.
  const [minuteMs, setMinuteMs] = useState(presentMinuteMs);
  const from = hours === '' ? '' : new Date(minuteMs - Number(hours) * hourMs).toISOString();
  const path = `/failures${queryText({ plugin, command, from })}`;
  const { first, pages, error, more, loadingMore, reload } = usePages<FailuresAnswer>(path, {
    live: ['job.failed', 'job.timed_out', 'job.dead', 'pipeline.failed', 'pipeline.timed_out'],
    everyMs: 15_000,
  });
  // The minute stays while further pages are shown or requested, because their cursors belong to the path with this minute.
  useLayoutEffect(() => {
    if (pages.length < 2 && !loadingMore) setMinuteMs(presentMinuteMs());
  });
  const groups = pages.flatMap(({ failures }) => failures);
  useKeys({
    '/': { text: 'filter', run: () => document.querySelector<HTMLInputElement>('.filter-row input')?.focus() },
  });
  const isFiltered = plugin !== '' || command !== '' || hours !== '';
  return (
    <Page
      title="Failures"
      subtitle={
        first && (
          <>
            {counted(first.total, 'group')} of jobs that failed, timed out or are dead
            {first.indexed_to && (
              <>
                , counted up to <Time at={first.indexed_to} />
              </>
            )}
          </>
        )
      }
    >
      <div class="filter-row">
        <Field label="Plugin" placeholder="any" value={plugin} onCommit={value => setQuery({ plugin: value.trim() })} />
        <Field
          label="Command"
          placeholder="any"
          value={command}
          onCommit={value => setQuery({ command: value.trim() })}
        />
        <Select label="Seen in" value={hours} options={spans} onChange={value => setQuery({ hours: value })} />
        {isFiltered && (
          <Button kind="plain" onClick={() => setQuery({ plugin: '', command: '', hours: '' })}>
            Clear
          </Button>
        )}
      </div>
      {error && <Problem error={error} retry={reload} />}
      {first === undefined ? (
        !error && <Loading rows={6} />
      ) : groups.length === 0 ? (
        <Empty title={isFiltered ? 'No group matches' : 'No job has failed'}>
          {isFiltered ? (
            'Remove a filter to see more groups.'
          ) : (
            <>
              Jobs that fail are grouped here by their errors. <a href={href('jobs')}>All jobs</a>
            </>
          )}
        </Empty>
      ) : (
        <RowList
          label="Groups of failures"
          rows={groups}
          rowKey={({ fingerprint }) => fingerprint}
          onOpen={({ fingerprint }) => go(href('jobs', null, { fingerprint }))}
          rowClass={() => 'failure'}
          render={group => <Group group={group} />}
        />
      )}
      {more && <More onMore={more} loading={loadingMore} />}
    </Page>
  );
}

function Group({ group }: { group: FailureGroup }): JSX.Element {
  const { fingerprint, plugin, command, pattern, trend, first_at, last_at, sample } = group;
  const work = workOf(plugin, command);
  const today = trend.reduce((sum, hour) => sum + hour, 0);
  return (
    <>
      <div class="failure-count">
        <a
          class="failure-number"
          href={href('jobs', null, { fingerprint })}
          aria-label={`Show the ${counted(group.count, 'job')}`}
        >
          {count(group.count)}
        </a>
        <span class="muted">{group.count === 1 ? 'job' : 'jobs'}</span>
      </div>
      <div class="failure-what">
        <h2 class="failure-pattern">
          <a href={href('jobs', null, { fingerprint })} title={pattern}>
            {pattern === '' ? 'no error text' : pattern}
          </a>
        </h2>
        <p class="failure-where">
          <a href={work.href}>{work.text}</a>
          <span class="muted failure-times">
            last <Time at={last_at} />
            <span class="failure-first">
              , first <Time at={first_at} />
            </span>
          </span>
        </p>
        <p class="failure-sample">
          <JobId id={sample.job_id} />{' '}
          <span class="failure-message" title={sample.message}>
            {sample.message}
          </span>
        </p>
      </div>
      <div class="failure-trend">
        <Spark values={trend} label={`Failures by hour in the last 24 hours: ${count(today)}`} />
        <span class="muted">{count(today)} in 24 h</span>
      </div>
      <div class="failure-actions">
        <a class="button" href={href('logs', null, { plugin, command, query: searchOf(pattern) })}>
          Search logs
        </a>
        <RerunGroup group={group} />
      </div>
    </>
  );
}

/** A button that reruns the jobs of the group, after a dry run. Absent if the token lacks the scopes for it. */
function RerunGroup({ group }: { group: FailureGroup }): JSX.Element | null {
  const { fingerprint, plugin, command, pattern } = group;
  const mayRun = may('plugin:rw') || (may('plugin:ro') && plugin !== 'pipeline');
  if (!may('control:rw') || !mayRun || !may('jobs:ro', 'jobs:rw', 'jobs:result:ro')) return null;
  const rerun = () =>
    confirmMany({
      title: `Rerun ${plugin} ${command}: ${pattern}`,
      verb: 'rerun',
      filter: `failures of ${plugin} ${command} with the error ${pattern}, also inside runs`,
      where: { fingerprint, children: true },
    });
  return <Button onClick={() => void rerun()}>Rerun…</Button>;
}
