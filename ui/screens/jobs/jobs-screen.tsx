// The screen Jobs: the list of jobs with its filters, and actions on all jobs that match.
import type { JSX } from 'preact';
import { count, now } from '../../core/format.ts';
import { href, place, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import {
  Announce,
  Button,
  type Column,
  confirmMany,
  Duration,
  Empty,
  JobId,
  Loading,
  type ManyDeed,
  More,
  Page,
  Problem,
  Status,
  SymbolHead,
  Table,
  Time,
} from '../../parts/index.ts';
import { exported, exportJobs, exportMax, stopExport } from './export.ts';
import { FilterBar } from './filter-bar.tsx';
import { filtersOf, filterText, type JobFilters, whereOf, withoutFilters } from './filters.ts';
import { useJobPages } from './job-pages.ts';
import { type JobRow, ranUs, waitedUs } from './job-row.ts';
import { StatusTabs } from './status-tabs.tsx';

export function JobsScreen(): JSX.Element {
  const filters = filtersOf(place.value.query);
  const { first, rows, more, isLoading, hasFailed, newest } = useJobPages(filters);
  const { data, error, loading, reload } = first;
  return (
    <Page title="Jobs" actions={<Actions filters={filters} total={data?.total ?? 0} />}>
      <FilterBar filters={filters} />
      <StatusTabs filters={filters} />
      {error && <Problem error={error} retry={reload} />}
      {data === undefined ? (
        error === undefined && <Loading rows={12} />
      ) : (
        <div class="job-list" aria-busy={loading}>
          <Announce text={`The list has ${count(data.total)} jobs.`} />
          <p class="list-note">
            {count(data.total)}
            {data.total_at_least ? ' or more' : ''} {data.total === 1 ? 'job matches' : 'jobs match'}
            {newest && (
              <>
                ; the list does not change while further pages are shown.{' '}
                <Button kind="plain" onClick={newest}>
                  Back to the newest
                </Button>
              </>
            )}
          </p>
          <Table
            label="Jobs"
            rows={rows}
            rowKey={row => row.job_id}
            href={row => href('job', row.job_id)}
            columns={columns}
            empty={<NoJobs isFiltered={Object.keys(filters).length > 0} />}
          />
          {more && <More onMore={more} loading={isLoading} auto={!hasFailed} />}
        </div>
      )}
    </Page>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (!isFiltered)
    return (
      <Empty title="No job has been accepted yet">
        Run a plugin or a pipeline, for example with <code>headgate plugin run PLUGIN COMMAND</code>.
      </Empty>
    );
  return (
    <Empty title="No job matches">
      <Button onClick={() => setQuery(withoutFilters())}>Clear all filters</Button>
    </Empty>
  );
}

const columns: readonly Column<JobRow>[] = [
  { name: 'Job', render: row => <JobId id={row.job_id} />, width: '150px' },
  {
    name: 'Status',
    title: <SymbolHead>Status</SymbolHead>,
    render: row => <Status status={row.status} />,
    width: '120px',
  },
  { name: 'Command', grow: true, render: row => <Command row={row} /> },
  { name: 'Tags', grow: true, render: row => <Tags tags={row.tags} />, hideBelow: 1024 },
  { name: 'Attempt', render: row => count(row.attempt), align: 'right', width: '80px', hideBelow: 1024 },
  { name: 'Waited', render: row => <Duration us={waitedUs(row)} />, align: 'right', width: '90px', hideBelow: 1024 },
  { name: 'Ran', render: row => <Ran row={row} />, align: 'right', width: '90px', hideBelow: 768 },
  { name: 'Accepted', render: row => <Time at={row.created_at} />, align: 'right', width: '100px' },
];

/** Reads the clock only for a job that runs. Otherwise every row would be rendered each second. */
function Ran({ row }: { row: JobRow }): JSX.Element {
  return <Duration us={ranUs(row, row.status === 'running' ? now.value : 0)} />;
}

function Command({ row: { plugin, command } }: { row: JobRow }): JSX.Element {
  if (plugin !== 'pipeline')
    return (
      <>
        {plugin} <span class="muted">{command}</span>
      </>
    );
  return (
    <>
      <span class="run-mark">run</span> {command}
    </>
  );
}

function Tags({ tags }: { tags: JobRow['tags'] }): JSX.Element {
  return (
    <>
      {Object.entries(tags ?? {}).map(([key, value]) => (
        <a key={key} class="tag" href={href('jobs', null, { tag: `${key}:${value}` })}>
          {key}:{value}
        </a>
      ))}
    </>
  );
}

const deeds: readonly { readonly verb: ManyDeed; readonly text: string; readonly scopes: readonly string[] }[] = [
  { verb: 'rerun', text: 'Rerun all', scopes: ['plugin:rw', 'plugin:ro'] },
  { verb: 'run_now', text: 'Run all now', scopes: ['jobs:rw'] },
  { verb: 'cancel', text: 'Cancel all', scopes: ['jobs:rw'] },
];

function Actions({ filters, total }: { filters: JobFilters; total: number }): JSX.Element {
  const fetched = exported.value;
  return (
    <>
      {may('control:rw') &&
        deeds
          .filter(({ scopes }) => may(...scopes))
          .map(({ verb, text }) => (
            <Button
              key={verb}
              kind={verb === 'cancel' ? 'danger' : undefined}
              disabled={total === 0}
              onClick={() => {
                const title = `${text} that match?`;
                void confirmMany({
                  title,
                  verb,
                  filter: filterText(filters),
                  where: whereOf(filters, false),
                  asksChildren: filters.run === undefined,
                });
              }}
            >
              {text}…
            </Button>
          ))}
      {fetched === null ? (
        <Button
          disabled={total === 0}
          onClick={() => void exportJobs(filters)}
          title={`One job a line, as NDJSON; at most the newest ${count(exportMax)} that match`}
        >
          {total > exportMax ? `Export the newest ${count(exportMax)}` : 'Export'}
        </Button>
      ) : (
        <Button onClick={stopExport}>Stop the export ({count(fetched)})</Button>
      )}
    </>
  );
}
