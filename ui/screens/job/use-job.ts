// A job as its pages show it: followed until it has ended.
import { useEffect, useState } from 'preact/hooks';
import { type Resource, useResource } from '../../core/resource.ts';
import { isSettled, type ShownJob } from './shown-job.ts';

/** Large values are left out. An ended job does not change, apart from its reruns. */
export function useJob(id: string | null): Resource<ShownJob> {
  const [isOpen, setOpen] = useState(true);
  const job = useResource<ShownJob>(id && `/job/${id}?result=short`, { live: isOpen ? ['job.*', 'pipeline.*'] : [] });
  const { data } = job;
  useEffect(() => setOpen(data === undefined || !isSettled(data)), [data]);
  return job;
}
