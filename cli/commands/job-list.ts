// `headgate job list`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import type { Job } from '../client/jobs.ts';
import { type Filters, filterOptions, moreLines, pageOptions } from '../client/lists.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { table } from '../terminal/table.ts';
import { statusPiece } from '../terminal/text.ts';
import { formatAt, formatMs, spanMs } from '../terminal/time.ts';

type Page = { readonly jobs: readonly Job[]; readonly total: number; readonly next_cursor?: string };

export const jobList = command<AddressOptions & Filters>({
  usage: 'job list',
  description: 'list jobs, the newest first',
  examples: ['headgate job list --status failed --limit 20'],
  options: [...filterOptions(), ...pageOptions(), ...addressOptions()],
  async run(call) {
    const { plugin, command: name, status, limit, cursor } = call.options;
    const client = await connect(call);
    const page = await client.get<Page>('/jobs', { plugin, command: name, status, limit, cursor });
    await call.out.answer(page, () => table(['JOB', 'STATUS', 'WHAT', 'CREATED (UTC)', 'RAN'], page.jobs.map(row)));
    for (const line of moreLines(page.jobs.length, page)) call.out.note(line);
    return exitStatus.ok;
  },
});

function row(job: Job) {
  const ranMs = spanMs(job.started_at, job.completed_at);
  const what = `${job.plugin}.${job.command}${job.attempt > 1 ? ` (attempt ${job.attempt})` : ''}`;
  return [job.job_id, statusPiece(job.status), what, formatAt(job.created_at), ranMs === null ? '-' : formatMs(ranMs)];
}
