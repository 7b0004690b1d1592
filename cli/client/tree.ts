// Reads the tree of a job, one job at a time.
import { brokenAnswer, type Client, hasMember, segment } from './client.ts';
import { elements } from './elements.ts';
import type { TreeJob } from './jobs.ts';

/**
 * Yields the jobs of the tree, parents before their children. Throws a `CommandFailure` if the call fails or the answer breaks
 * off.
 */
export async function* treeJobs(client: Client, id: string): AsyncGenerator<TreeJob> {
  const { body } = await client.open('GET', `/job/${segment(id)}/tree`);
  try {
    for await (const job of elements(body!)) {
      if (!hasMember(job, 'job_id') || !hasMember(job, 'status')) throw new Error('one of its elements is not a job');
      yield job as TreeJob;
    }
  } catch (error) {
    throw brokenAnswer(`the tree broke off: ${(error as Error).message}`, error);
  }
}
