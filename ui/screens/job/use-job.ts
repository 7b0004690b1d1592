// A job as its pages show it: followed until it has ended.
import { useEffect, useState } from 'preact/hooks';
import { type Resource, type ResourceOptions, useResource } from '../../core/resource.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

/** No event says that the time of a queued job has come, so it is fetched at this interval, too. */
const queuedEveryMs = 5_000;

/** The job without large values. It is fetched again until it has ended; later only its reruns change. */
export function useJob(id: string | null): Resource<ShownJob> {
  const [status, setStatus] = useState<string | undefined>();
  const job = useResource<ShownJob>(id && `/job/${id}?result=short`, following(status));
  useEffect(() => setStatus(job.data?.status), [job.data]);
  return job;
}

function following(status: string | undefined): ResourceOptions {
  if (status !== undefined && isSettled({ status })) return {};
  // What holds a job, such as a pause, ends with an event of its plugin or of the service.
  const live = ['job.*', 'pipeline.*', 'plugin.*', 'system.*'];
  return status === 'queued' ? { live, everyMs: queuedEveryMs } : { live };
}
