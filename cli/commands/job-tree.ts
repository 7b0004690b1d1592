// `headgate job tree`.
import { Option } from 'commander';
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import type { TreeJob } from '../client/jobs.ts';
import { treeJobs } from '../client/tree.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
import type { Output } from '../output.ts';
import { parseCount } from '../quantity.ts';
import { JobTree } from '../terminal/job-tree.ts';
import { printableJson } from '../terminal/text.ts';

const siblingsDefault = 20;

export const jobTree = command<AddressOptions & { readonly siblings: number }>({
  usage: 'job tree <job_id>',
  description: 'draw a job and all jobs below it, with statuses and durations',
  examples: ['headgate job tree 0198c0de-0000-7000-8000-000000000000 --siblings 5'],
  options: [
    new Option('--siblings <count>', "at most so many of one job's children; the others are counted")
      .argParser(parseCount)
      .default(siblingsDefault),
    ...addressOptions(),
  ],
  async run(call) {
    const client = await connect(call);
    const jobs = treeJobs(client, call.args[0]!);
    await (call.out.json ? copy(jobs, call.out) : show(jobs, call.options.siblings, call.out));
    return exitStatus.ok;
  },
});

async function show(jobs: AsyncIterable<TreeJob>, siblingsMax: number, out: Output): Promise<void> {
  const tree = new JobTree();
  for await (const job of jobs) tree.add(job);
  await out.answer(null, () => tree.lines(siblingsMax));
}

/** One document, however long it is: a job in a line. */
async function copy(jobs: AsyncIterable<TreeJob>, out: Output): Promise<void> {
  let separator = '[\n';
  for await (const job of jobs) {
    await out.piece(`${separator}${printableJson(JSON.stringify(job))}`);
    separator = ',\n';
  }
  await out.piece('\n]\n');
}
