// `headgate job watch`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import type { StreamEvent } from '../client/event-stream.ts';
import { Family } from '../client/family.ts';
import { exitStatusOfJob, fetchJob, isSettled, type Job } from '../client/jobs.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { eventDocument, eventLine } from '../terminal/event.ts';

/** How a job's end is called in the stream. */
const ends: { readonly [type: string]: string } = {
  'job.completed': 'succeeded',
  'job.failed': 'failed',
  'job.timed_out': 'timed_out',
  'job.dead': 'dead',
};

export const jobWatch = command<AddressOptions>({
  usage: 'job watch <job_id>',
  description: 'follow a job and all jobs below it live, until it has ended',
  examples: ['headgate job watch 0198c0de-0000-7000-8000-000000000000'],
  options: addressOptions(),
  statuses: '0 the job succeeded, 1 it did not, 5 it timed out',
  async run(call) {
    const { args, out } = call;
    const id = args[0]!;
    const [client, { follow }] = await Promise.all([connect(call), import('../client/event-stream.ts')]);
    const family = new Family(client, id);
    const show = (event: StreamEvent) => out.item(eventDocument(event), () => eventLine(event));
    // The job may have ended before anybody listened, or unheard.
    const settledUnheard = async (): Promise<Job | null> => {
      const job = await fetchJob(client, id);
      return isSettled(job.status) ? job : null;
    };

    for await (const news of follow(client, '/events?types=job.*')) {
      if (news.kind === 'opened') out.note(`listening to ${client.url}`);
      if (news.kind === 'lost') out.note(`the connection is lost (${news.why}); trying again`);
      const events = news.kind === 'events' ? news.events : [];
      for (const event of await family.own(events)) {
        await show(event);
        const status = event.fields['job_id'] === id ? ends[event.type] : undefined;
        if (status !== undefined) return exitStatusOfJob(status);
      }
      const mayHaveMissed = news.kind === 'opened' ? !news.continues : events.some(({ type }) => type === 'gap');
      const job = mayHaveMissed ? await settledUnheard() : null;
      if (job === null) continue;
      await show(endOf(job));
      return exitStatusOfJob(job.status);
    }
    return exitStatus.ok;
  },
});

/** The event that told it. */
function endOf(job: Job): StreamEvent {
  const [type = ''] = Object.entries(ends).find(([, status]) => status === job.status) ?? [];
  const { completed_at: at, plugin, command: name, job_id, last_error: error } = job;
  const fields = { ...(at !== null && { at }), plugin, command: name, job_id, ...(error !== undefined && { error }) };
  return { id: '', type, fields };
}
