// The command `headgate job tree`, which draws a job and all its descendants.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import type { TreeJob } from '../client/jobs.ts';
import { treeJobs } from '../client/tree.ts';
import type { CommandCall } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure, report } from '../failure.ts';
import { Output } from '../output.ts';
import { parseCount } from '../quantity.ts';
import { JobTree } from '../terminal/job-tree.ts';
import { printableJson } from '../terminal/text.ts';

const siblingsDefault = 20;

type Options = { readonly siblings: number; readonly failed?: boolean };

export const jobTree = clientCommand<Options>({
  usage: 'job tree <job_id>',
  description: 'draw a job and all its descendants, with statuses and durations',
  statuses: '69 the answer broke off; with --json, the last element of the list is then the problem document',
  examples: ['headgate job tree 0198c0de-0000-7000-8000-000000000000 --failed'],
  options: [
    new Option('--siblings <count>', 'show at most this many children of a job, and count the others')
      .argParser(parseCount)
      .default(siblingsDefault),
    new Option('--failed', 'draw only jobs that failed, timed out or are dead, and their ancestors'),
  ],
  async run(call) {
    const jobs = treeJobs(call.client, call.args[0]!);
    if (call.out.json) return copy(jobs, call);
    const { siblings, failed = false } = call.options;
    const tree = new JobTree();
    for await (const job of jobs) tree.add(job);
    await call.out.answer(null, () => tree.lines(siblings, { failed }));
    return exitStatus.ok;
  },
});

/**
 * Prints one JSON document, a job per line. If the answer breaks off after the first job, the last element is the problem
 * document.
 */
async function copy(jobs: AsyncIterable<TreeJob>, { io, out }: CommandCall): Promise<number> {
  let separator = '[\n';
  const add = async (element: unknown): Promise<void> => {
    await out.piece(`${separator}${printableJson(JSON.stringify(element))}`);
    separator = ',\n';
  };
  let status: number = exitStatus.ok;
  try {
    for await (const job of jobs) await add(job);
  } catch (error) {
    if (!(error instanceof CommandFailure) || separator.startsWith('[')) throw error;
    await add(error.problem);
    status = await report(error, new Output(io, false));
  }
  await out.piece(separator.startsWith('[') ? '[]\n' : '\n]\n');
  return status;
}
