// A job as its pages show it: followed until it has ended.
import { useEffect, useState } from 'preact/hooks';
import { type Resource, useResource } from '../../core/resource.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

/** The job without large values. It is fetched again after events until it has ended; later only its reruns change. */
export function useJob(id: string | null): Resource<ShownJob> {
  const [isOpen, setOpen] = useState(true);
  const job = useResource<ShownJob>(id && `/job/${id}?result=short`, { live: isOpen ? ['job.*', 'pipeline.*'] : [] });
  const { data } = job;
  useEffect(() => setOpen(data === undefined || !isSettled(data)), [data]);
  return job;
}
