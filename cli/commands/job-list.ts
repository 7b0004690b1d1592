// The command `headgate job list`, which prints a page of the list of jobs.

import { Option } from 'commander';
import { countText } from '../../runtime/text.ts';
import { clientCommand } from '../client/connect.ts';
import { type JobDocument, unsuccessfulText } from '../client/jobs.ts';
import { type Filters, filterOptions, fingerprintOption, moreLines, type Page, pageOptions } from '../client/lists.ts';
import { type TagOptions, tagOption } from '../client/tags.ts';
import type { TextOptions } from '../command.ts';
import { parseInstant } from '../quantity.ts';
import { table } from '../terminal/table.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatAt, formatMs, spanMs } from '../terminal/time.ts';

type JobListPage = Page & { readonly jobs: readonly JobDocument[]; readonly index_behind?: number };

type Own = TagOptions &
  TextOptions<'pipeline' | 'from' | 'to' | 'fingerprint' | 'run' | 'root' | 'parent' | 'rerunOf' | 'error'>;

export const jobList = clientCommand<Filters & Own>({
  usage: 'job list',
  description: 'list jobs, newest first',
  examples: [
    'headgate job list --status failed --limit 20',
    'headgate job list --run 0198c0de-0000-7000-8000-000000000000 --status failed',
    'headgate job list --error "connection refused"',
    'headgate job list --tag tenant=acme --status dead',
    'headgate job list --pipeline import --from 1h',
    'headgate job list --fingerprint 5f0c2ab17d94e836',
    'headgate job list --rerun-of 0198c0de-0000-7000-8000-000000000000',
  ],
  options: [
    ...filterOptions(),
    new Option('--pipeline <name>', 'only runs of this pipeline, and the jobs of its steps'),
    new Option('--from <time>', 'only jobs that were accepted at this time or later; 1h means an hour ago').argParser(
      parseInstant,
    ),
    new Option('--to <time>', 'only jobs that were accepted at this time or earlier').argParser(parseInstant),
    new Option('--run <job_id>', 'only jobs inside this run, including those of called pipelines'),
    new Option('--root <job_id>', 'only this job and all its descendants'),
    new Option('--parent <job_id>', 'only children of this job'),
    new Option('--rerun-of <job_id>', 'only reruns of this job'),
    tagOption('only jobs with this tag'),
    new Option(
      '--error <words>',
      'only jobs whose last error has all these words; docs/search.md describes the query language',
    ),
    fingerprintOption(),
    ...pageOptions(),
  ],
  async run({ options, client, out }) {
    const form = { jobs: ['job_id', 'status', 'created_at'], total: true } as const;
    const { rerunOf: rerun_of, ...filters } = options;
    const page = await client.get<JobListPage>('/jobs', form, { ...filters, rerun_of });
    await out.answer(page, () => table(['JOB', 'STATUS', 'WHAT', 'CREATED (UTC)', 'RAN'], page.jobs.map(row)));
    out.note(...moreLines(page.jobs.length, page));
    const { index_behind: behind = 0 } = page;
    if (behind > 0) out.note(`the index is behind: ${countText(behind, 'job')} with tags not listed yet`);
  },
});

function row(job: JobDocument) {
  const ranMs = spanMs(job.started_at, job.completed_at);
  const notes = [job.attempt > 1 ? `attempt ${job.attempt}` : null, unsuccessfulText(job)].filter(
    note => note !== null,
  );
  const what = `${job.plugin}.${job.command}${notes.length > 0 ? ` (${notes.join('; ')})` : ''}`;
  return [job.job_id, statusPiece(job.status), what, formatAt(job.created_at), ranMs === null ? '-' : formatMs(ranMs)];
}
