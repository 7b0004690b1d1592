// The actions over many jobs: what they do to which jobs, how far they have come, and who started them.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { count, counted } from '../../core/format.ts';
import { usePages } from '../../core/pages.ts';
import { go, href } from '../../core/router.ts';
import { type Action, deedText, filterText, paceText, progressText, skippedOf, takenOf } from '../../parts/action.ts';
import { Bar, Empty, Loading, More, Page, Problem, RowList, Status, Time } from '../../parts/index.ts';

type ActionsAnswer = { readonly actions: readonly Action[]; readonly total: number; readonly next_cursor?: string };

/** How often progress is fetched while an action is open. */
const openEveryMs = 2_000;

export function ActionsScreen(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { first, pages, error, more, loadingMore, reload } = usePages<ActionsAnswer>('/actions', {
    live: ['action.*'],
    ...(isOpen && { everyMs: openEveryMs }),
  });
  const actions = pages.flatMap(page => page.actions);
  const hasOpen = actions.some(({ completed_at: end }) => end === null);
  useEffect(() => setOpen(hasOpen), [hasOpen]);
  return (
    <Page title="Actions" subtitle={first && `${counted(first.total, 'action')} over many jobs, newest first`}>
      {error && <Problem error={error} retry={reload} />}
      {first === undefined ? (
        !error && <Loading rows={6} />
      ) : actions.length === 0 ? (
        <Empty title="No action has been started">
          Filter the <a href={href('jobs')}>jobs</a>, and choose Rerun all, Run all now or Cancel all.
        </Empty>
      ) : (
        <RowList
          label="Actions"
          rows={actions}
          rowKey={({ action_id: id }) => id}
          onOpen={({ action_id: id }) => go(href('job', id))}
          rowClass={() => 'action'}
          render={action => <ActionRow action={action} />}
        />
      )}
      {more && <More onMore={more} loading={loadingMore} />}
    </Page>
  );
}

function ActionRow({ action }: { action: Action }): JSX.Element {
  const { action_id: id, state, reason, by, created_at: at } = action;
  const pace = paceText(action);
  return (
    <>
      <a class="action-what" href={href('job', id)}>
        {deedText(action)}
      </a>
      <Status status={state} />
      <p class="action-filter" title={filterText(action)}>
        {filterText(action)}
      </p>
      <p class="action-note muted" title={reason}>
        {[pace, reason].filter(Boolean).join(': ')}
      </p>
      <div class="action-progress" title={progressText(action)}>
        <Progress action={action} />
        {count(action.done + action.failed + skippedOf(action))} of {count(takenOf(action))}
      </div>
      <span class="action-by muted">
        <span>by {by}</span> <Time at={at} />
      </span>
    </>
  );
}

function Progress({ action }: { action: Action }): JSX.Element {
  const parts = [
    { name: 'done', value: action.done, color: '--status-succeeded' },
    { name: 'skipped', value: skippedOf(action), color: '--status-queued' },
    { name: 'failed', value: action.failed, color: '--status-failed' },
  ];
  return <Bar parts={parts} label="Jobs that were handled" total={takenOf(action)} />;
}
