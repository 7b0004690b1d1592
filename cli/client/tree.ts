// The tree of a job, a job at a time, however large it is.
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import { type Client, segment } from './client.ts';
import { elements } from './elements.ts';
import type { TreeJob } from './jobs.ts';

/** Parents before their children. Throws a `Failure`, also when the answer breaks off. */
export async function* treeJobs(client: Client, id: string): AsyncGenerator<TreeJob> {
  const { body } = await client.open('GET', `/job/${segment(id)}/tree`);
  try {
    for await (const job of elements(body!)) yield job as TreeJob;
  } catch (error) {
    const detail = `the tree broke off: ${(error as Error).message}`;
    throw failure(exitStatus.unavailable, 'broken_answer', 'The answer cannot be read', detail, error);
  }
}
