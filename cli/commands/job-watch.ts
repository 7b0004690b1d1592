// `headgate job watch`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import type { StreamEvent } from '../client/event-stream.ts';
import { Family } from '../client/family.ts';
import { exitStatusOfJob, fetchJob, isSettled, type Job } from '../client/jobs.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { Failure } from '../failure.ts';
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
  description: 'show the state of a job, then follow it and all its descendants until it has ended',
  examples: ['headgate job watch 0198c0de-0000-7000-8000-000000000000'],
  options: addressOptions(),
  statuses: '0 the job succeeded, 1 it failed, 5 it timed out',
  async run(call) {
    const { args, out } = call;
    const id = args[0]!;
    const [client, { follow }] = await Promise.all([connect(call), import('../client/event-stream.ts')]);
    const family = new Family(client, id);
    const show = (event: StreamEvent) => out.item(eventDocument(event), () => eventLine(event));
    // The job may have ended before anybody listened, or unheard, until it has been asked for.
    let isUnsure = true;
    /** What the first line has said. */
    let standing: StreamEvent | null = null;

    for await (const news of follow(client, '/events?types=job.*')) {
      if (news.kind === 'opened') out.note(`listening to ${client.url}`);
      if (news.kind === 'lost') out.note(`connection lost (${news.why}); reconnecting`);
      const events = news.kind === 'events' ? news.events : [];
      const wasFull = family.isFull;
      const own = await family.own(events);
      if (family.isFull && !wasFull)
        out.note('the tree is too large to follow: jobs that it gains from now on are not shown');
      for (const event of own) {
        if (standing !== null && isWithin(standing, event)) continue;
        await show(event);
        const status = event.fields['job_id'] === id ? ends[event.type] : undefined;
        if (status !== undefined) return exitStatusOfJob(status);
      }
      if (news.kind === 'opened' ? !news.continues : events.some(({ type }) => type === 'gap')) isUnsure = true;
      const job = isUnsure && news.kind !== 'lost' ? await fetchJob(client, id).catch(unlessAway) : null;
      if (job !== null) isUnsure = false;
      if (job === null) continue;
      if (!isSettled(job.status)) {
        if (standing === null) {
          standing = standingOf(job);
          await show(standing);
        }
        continue;
      }
      await show(endOf(job));
      return exitStatusOfJob(job.status);
    }
    return exitStatus.ok;
  },
});

/** The stream is lost then too, and when it comes back it is asked again. */
function unlessAway(error: unknown): null {
  if (error instanceof Failure && error.exitStatus === exitStatus.unavailable) return null;
  throw error;
}

/** The event that led to the state that the job is in. */
function standingOf(job: Job): StreamEvent {
  if (job.status === 'running') return eventOf('job.started', job, job.started_at);
  if (job.last_error !== undefined) return eventOf('job.retry_scheduled', job, null);
  return eventOf('job.enqueued', job, job.created_at);
}

/** Whether the line that says how the job stands covers the event: it came between opening the stream and asking for the job. */
function isWithin(
  { fields: { job_id: id, at: standingAt = '' } }: StreamEvent,
  { type, fields }: StreamEvent,
): boolean {
  const isBeginning = type === 'job.enqueued' || type === 'job.started';
  return isBeginning && fields['job_id'] === id && (fields.at ?? '') <= standingAt;
}

/** The event that told its end. */
function endOf(job: Job): StreamEvent {
  const [type = ''] = Object.entries(ends).find(([, status]) => status === job.status) ?? [];
  return eventOf(type, job, job.completed_at);
}

function eventOf(type: string, job: Job, at: string | null): StreamEvent {
  const { plugin, command: name, job_id, last_error: error } = job;
  const fields = { ...(at !== null && { at }), plugin, command: name, job_id, ...(error !== undefined && { error }) };
  return { id: '', type, fields };
}
