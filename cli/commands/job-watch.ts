// The command `headgate job watch`, which follows a job until it ends.
import { queryText } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import type { StreamEvent } from '../client/event-stream.ts';
import { exitStatusOfJob, fetchJob, isSettled, type JobDocument } from '../client/jobs.ts';
import { RunProgress } from '../client/run-progress.ts';
import { exitStatus } from '../exit-status.ts';
import { isUnavailable } from '../failure.ts';
import { eventDocument, eventLine } from '../terminal/event.ts';

/** The events that report the end of a job, and the final status that each event reports. */
const ends: { readonly [type: string]: string } = {
  'job.completed': 'succeeded',
  'job.failed': 'failed',
  'job.timed_out': 'timed_out',
  'job.dead': 'dead',
  'job.cancelled': 'cancelled',
};

/** After this time without an event or a request for the job, anything that arrives on the stream, such as a comment line, leads to a request. */
const askAgainMs = 10_000;

export const jobWatch = clientCommand({
  usage: 'job watch <job_id>',
  description:
    'show a job, and follow it until it ends; for a run also its jobs, for a large run only failures and counts',
  examples: ['headgate job watch 0198c0de-0000-7000-8000-000000000000'],
  statuses: '0 the job succeeded, 1 it failed, 5 it timed out, 6 it was cancelled',
  async run({ args, client, out }) {
    const id = args[0]!;
    const { follow } = await import('../client/event-stream.ts');
    const progress = new RunProgress(id, out);
    const show = (event: StreamEvent) => out.item(eventDocument(event), () => eventLine(event));
    const watched = await fetchJob(client, id);
    if (isSettled(watched.status)) {
      await show(endOf(watched));
      return exitStatusOfJob(watched.status);
    }
    // Whether the job may have ended without an event on this stream: at first, and after each loss of events, until the job is
    // read again.
    let isUnsure = true;
    /** The state of the job when this command first printed it, as an event; null until then. */
    let standing: StreamEvent | null = null;
    /** The time of the last events, or of the last request that found out whether the job has ended. */
    let heardMs = performance.now();
    const noteOpened = () => out.note(`listening to ${client.url}`);

    for await (const news of follow(client, `/events${queryText({ types: 'job.*', ...aboutOf(watched) })}`)) {
      if (news.kind === 'lost') out.note(`connection lost (${news.why}); reconnecting`);
      const events = news.kind === 'events' ? news.events : [];
      for (const event of events) {
        if (standing !== null && isWithin(standing, event)) continue;
        if (progress.shows(event)) await show(event);
        const status = event.fields['job_id'] === id ? ends[event.type] : undefined;
        if (status !== undefined) return exitStatusOfJob(status);
      }
      if (events.length > 0) heardMs = performance.now();
      if (news.kind === 'opened' ? !news.continues : events.some(({ type }) => type === 'gap')) isUnsure = true;
      if (news.kind === 'opened' && !isUnsure) noteOpened();
      if (news.kind === 'lost') continue;
      const isSilent = news.kind === 'events' && events.length === 0;
      // Some ends have no event: a job that never started is cancelled silently with its run.
      const isEndAsked = performance.now() - heardMs >= askAgainMs || (isUnsure && !isSilent);
      if (!isEndAsked && (isSilent || !progress.isDue)) continue;
      if (isEndAsked) heardMs = performance.now();
      const job = await fetchJob(client, id).catch(unlessAway);
      if (job === null) continue;
      progress.printCounts(job);
      // A request for the counts does not end the watch, because events may still be on their way. The last of them is the end.
      if (!isEndAsked) continue;
      isUnsure = false;
      if (isSettled(job.status)) {
        await show(endOf(job));
        return exitStatusOfJob(job.status);
      }
      if (news.kind === 'opened') noteOpened();
      if (standing !== null) continue;
      standing = standingOf(job);
      await show(standing);
    }
    return exitStatus.ok;
  },
});

/**
 * The filter for the events to show. For a run, these are the events of the run and of the jobs inside it or, if the run has no parent,
 * of all its descendants. For any other job, these are its own events, because it has no children before it ends.
 */
function aboutOf({ job_id: id, plugin, parent_job_id: parent }: JobDocument): { readonly [filter: string]: string } {
  if (plugin !== 'pipeline') return { job_id: id };
  return parent == null ? { root: id } : { run: id };
}

/** Returns null if the service is unavailable. The job is then read again when the stream opens or brings events, or after `askAgainMs`. */
function unlessAway(error: unknown): null {
  if (isUnavailable(error)) return null;
  throw error;
}

/** An event made from the current state of an unsettled job. */
function standingOf(job: JobDocument): StreamEvent {
  if (job.status === 'running') return eventOf('job.started', job, job.started_at);
  if (job.last_error !== undefined) return eventOf('job.retry_scheduled', job, null);
  return eventOf('job.enqueued', job, job.created_at);
}

/** Whether the event reports that the job was queued or started, and the first printed state of the job already includes this. */
function isWithin(
  { fields: { job_id: id, at: standingAt = '' } }: StreamEvent,
  { type, fields }: StreamEvent,
): boolean {
  const isBeginning = type === 'job.enqueued' || type === 'job.started';
  return isBeginning && fields['job_id'] === id && (fields.at ?? '') <= standingAt;
}

function endOf(job: JobDocument): StreamEvent {
  const [type = ''] = Object.entries(ends).find(([, status]) => status === job.status) ?? [];
  return eventOf(type, job, job.completed_at);
}

function eventOf(type: string, job: JobDocument, at: string | null): StreamEvent {
  const { plugin, command: name, job_id, last_error: error, counts } = job;
  const fields = {
    ...(at !== null && { at }),
    ...{ plugin, command: name, job_id },
    ...(counts !== undefined && isSettled(job.status) && { counts }),
    ...(error !== undefined && { error }),
  };
  return { id: '', type, fields };
}
