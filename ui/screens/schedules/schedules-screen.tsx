// All schedules: when they fire next, how the last firings ended, and what can be done with them.
import type { JSX } from 'preact';
import { counted } from '../../core/format.ts';
import { usePages } from '../../core/pages.ts';
import { href, place } from '../../core/router.ts';
import { Empty, Loading, More, Page, Problem, Table, Time } from '../../parts/index.ts';
import { History } from './history.tsx';
import { ScheduleActions } from './schedule-actions.tsx';
import { ScheduleDetail } from './schedule-detail.tsx';
import { type ScheduleView, scheduleEvents, targetHref, targetText, timesText } from './schedule-view.ts';
import { StateMark } from './state-mark.tsx';

type SchedulesAnswer = {
  readonly schedules: readonly ScheduleView[];
  readonly total: number;
  readonly next_cursor?: string;
};

export function SchedulesScreen(): JSX.Element {
  const { id } = place.value;
  return id === null ? <ScheduleList /> : <ScheduleDetail key={id} id={id} />;
}

function ScheduleList(): JSX.Element {
  const { first, pages, error, more, loadingMore, reload } = usePages<SchedulesAnswer>('/schedules', {
    live: scheduleEvents,
    everyMs: 30_000,
  });
  const rows = pages.flatMap(({ schedules }) => schedules);
  return (
    <Page title="Schedules" subtitle={first && counted(first.total, 'schedule')}>
      {error && <Problem error={error} retry={reload} />}
      {first === undefined ? (
        !error && <Loading rows={5} />
      ) : (
        <Table
          label="Schedules"
          rows={rows}
          rowKey={({ id }) => id}
          href={({ id }) => href('schedules', id)}
          empty={
            <Empty title="No schedules are configured">
              Add one below <code>schedules:</code> of the configuration, for example{' '}
              <code>{'{ id: nightly, plugin: greet, cron: "30 2 * * *" }'}</code>, and reload it.
            </Empty>
          }
          columns={[
            {
              name: 'Schedule',
              render: schedule => (
                <>
                  <a class="cell-name" href={href('schedules', schedule.id)}>
                    {schedule.id}
                  </a>{' '}
                  <StateMark schedule={schedule} />
                </>
              ),
            },
            { name: 'When', grow: true, render: schedule => timesText(schedule) },
            {
              name: 'Runs',
              hideBelow: 1024,
              render: schedule => <a href={targetHref(schedule)}>{targetText(schedule)}</a>,
            },
            { name: 'Next', align: 'right', render: ({ next_run_at }) => <Time at={next_run_at} /> },
            { name: 'Last firings', hideBelow: 1024, render: ({ history }) => <History history={history ?? []} /> },
            {
              name: 'Actions',
              title: <span class="offscreen">Actions</span>,
              align: 'right',
              hideBelow: 768,
              render: schedule => <ScheduleActions schedule={schedule} onDone={reload} isBrief />,
            },
          ]}
        />
      )}
      {more && <More onMore={more} loading={loadingMore} />}
    </Page>
  );
}
