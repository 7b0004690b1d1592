// A job as its pages show it: followed until it has ended.
import { useEffect, useState } from 'preact/hooks';
import { type Resource, type ResourceOptions, useResource } from '../../core/resource.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

/** No event says that the time of a queued job has come, so a queued job is also fetched at this interval. */
const queuedEveryMs = 5_000;

/** The job without large values. It is fetched again until it has ended. After that, only its list of reruns could change. */
export function useJob(id: string | null): Resource<ShownJob> {
  const [status, setStatus] = useState<string | undefined>();
  const job = useResource<ShownJob>(id && `/job/${id}?result=short`, following(status));
  useEffect(() => setStatus(job.data?.status), [job.data]);
  return job;
}

function following(status: string | undefined): ResourceOptions {
  if (status !== undefined && isSettled({ status })) return {};
  // The end of a hold, such as a pause, is an event of the plugin or of the service.
  const live = ['job.*', 'pipeline.*', 'plugin.*', 'system.*'];
  return status === 'queued' ? { live, everyMs: queuedEveryMs } : { live };
}
