// The screen Jobs: the list of jobs.
import type { JSX } from 'preact';
import { useResource } from '../../core/resource.ts';
import { href, place, queryText } from '../../core/router.ts';
import { Empty, JobId, Loading, Page, Problem, Status, Table, Time } from '../../parts/index.ts';

type JobRow = { job_id: string; plugin: string; command: string; status: string; created_at: string };

export function JobsScreen(): JSX.Element {
  const query = Object.fromEntries(place.value.query);
  const jobs = useResource<{ jobs: JobRow[]; total: number }>(`/jobs${queryText(query)}`, { live: ['job.*'] });
  if (jobs.error && !jobs.data) return <Problem error={jobs.error} retry={jobs.reload} />;
  return (
    <Page title="Jobs">
      {jobs.data === undefined ? (
        <Loading />
      ) : (
        <Table
          rows={jobs.data.jobs}
          rowKey={row => row.job_id}
          href={row => href('job', row.job_id)}
          empty={<Empty title="No jobs" />}
          columns={[
            { name: 'Job', render: row => <JobId id={row.job_id} /> },
            { name: 'Status', render: row => <Status status={row.status} /> },
            { name: 'Command', render: row => `${row.plugin} ${row.command}` },
            { name: 'Accepted', render: row => <Time at={row.created_at} />, align: 'right' },
          ]}
        />
      )}
    </Page>
  );
}
