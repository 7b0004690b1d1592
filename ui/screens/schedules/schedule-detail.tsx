// One schedule: its next occurrences, its settings, and its latest firings.
import type { JSX } from 'preact';
import { counted, exact, ms } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { Empty, JobId, Loading, Page, Problem, Section, Status, Table, Time } from '../../parts/index.ts';
import { ScheduleActions } from './schedule-actions.tsx';
import {
  type FiringView,
  type ScheduleView,
  scheduleEvents,
  targetHref,
  targetText,
  timesText,
} from './schedule-view.ts';
import { StateMark } from './state-mark.tsx';

export function ScheduleDetail({ id }: { id: string }): JSX.Element {
  const { data, error, reload } = useResource<ScheduleView>(`/schedule/${encodeURIComponent(id)}`, {
    live: scheduleEvents,
    everyMs: 30_000,
  });
  return (
    <Page
      title={id}
      subtitle={
        <>
          <a href={href('schedules')}>Schedules</a>
          {data && (
            <>
              {' '}
              · {timesText(data)} · runs <a href={targetHref(data)}>{targetText(data)}</a> <StateMark schedule={data} />
            </>
          )}
        </>
      }
      {...(data && { actions: <ScheduleActions schedule={data} onDone={reload} /> })}
    >
      {error && <Problem error={error} retry={reload} />}
      {data === undefined ? !error && <Loading rows={6} /> : <Detail schedule={data} />}
    </Page>
  );
}

function Detail({ schedule }: { schedule: ScheduleView }): JSX.Element {
  const { paused, next, history = [] } = schedule;
  return (
    <>
      {paused && (
        <p class="hold-note">
          <span class="pause-note">
            <span aria-hidden="true">‖</span> Paused by {paused.by}, <Time at={paused.since} />
            {paused.reason && `: ${paused.reason}`}
          </span>
        </p>
      )}
      <div class="schedule-parts">
        <Section title="Next">
          {next.length === 0 ? (
            <p class="muted">It does not fire again.</p>
          ) : (
            <ol class="schedule-next">
              {next.map(at => (
                <li key={at}>
                  <span class="number">{exact(new Date(at))}</span>{' '}
                  <span class="muted">
                    <Time at={at} />
                  </span>
                </li>
              ))}
            </ol>
          )}
        </Section>
        <Section title="Settings">
          <dl class="schedule-facts">
            {settingsOf(schedule).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </Section>
      </div>
      <Section title="Latest firings">
        <Table
          label="Latest firings"
          rows={history.map((firing, at) => ({
            ...firing,
            at: firing.at ?? firing.fired_at,
            key: `${firing.due_at} ${at}`,
          }))}
          rowKey={({ key }) => key}
          empty={<Empty title="It has not fired">Its firings appear here, with their jobs.</Empty>}
          columns={[
            { name: 'Outcome', render: firing => <Outcome firing={firing} /> },
            { name: 'Due', render: ({ due_at }) => (due_at === null ? 'by hand' : <Time at={due_at} />) },
            {
              name: 'Late',
              align: 'right',
              hideBelow: 768,
              render: ({ late_ms }) => lateText(late_ms),
            },
            { name: 'Job', render: ({ job_id }) => (job_id === undefined ? '–' : <JobId id={job_id} />) },
            { name: 'Note', hideBelow: 768, render: firing => noteOf(firing) },
          ]}
        />
      </Section>
    </>
  );
}

function lateText(late: number | null | undefined): string {
  if (late === undefined || late === null) return '–';
  return late === 0 ? 'on time' : ms(late);
}

function Outcome({ firing }: { firing: FiringView }): JSX.Element {
  return <Status status={firing.outcome} />;
}

const reasons: Readonly<Record<string, string>> = {
  running: 'the job before had not ended',
  paused: 'its target was paused',
  queue_full: 'too many occurrences waited',
  missed: 'the service was down, or the schedule paused',
  disabled: 'it was switched off',
  refused: 'the ledger refused it',
};

function noteOf({ reason, count: occurrences = 1, missed = 0 }: FiringView): string {
  const parts = [
    occurrences > 1 ? counted(occurrences, 'occurrence') : '',
    reason === undefined ? '' : (reasons[reason] ?? reason),
    missed > 0 ? `${missed} before it were missed` : '',
  ];
  return parts.filter(Boolean).join(', ');
}

function settingsOf(schedule: ScheduleView): readonly (readonly [name: string, value: string])[] {
  const { cron, timezone, jitter_ms: jitter = 0, if_running, catch_up, catch_up_within_ms: within } = schedule;
  const { pause_after_failures: failures = 0, skip_when_paused: skips, tags } = schedule;
  const pairs: (readonly [string, string])[] = [];
  if (cron !== undefined) pairs.push(['Cron', `${cron} (${timezone ?? 'UTC'})`]);
  if (jitter > 0) pairs.push(['Jitter', `up to ${ms(jitter)}`]);
  if (if_running) pairs.push(['While its job runs', if_running]);
  if (catch_up)
    pairs.push(['Missed times', `${catch_up}${within === undefined ? '' : `, not older than ${ms(within)}`}`]);
  pairs.push(['Pauses after', failures === 0 ? 'never by itself' : `${counted(failures, 'failure')} in a row`]);
  if (skips) pairs.push(['While its target is paused', 'does not fire']);
  if (tags)
    pairs.push([
      'Tags',
      Object.entries(tags)
        .map(pair => pair.join(':'))
        .join(' '),
    ]);
  return pairs;
}
