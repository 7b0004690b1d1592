// The command `headgate events`, which prints the events of the service as they happen.
import { Option } from 'commander';
import { queryText } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import type { TextOptions } from '../command.ts';
import { parseCount } from '../quantity.ts';
import { eventDocument, eventLine } from '../terminal/event.ts';

type Options = TextOptions<'types' | 'job' | 'root' | 'run' | 'after'> & { readonly count?: number };

export const eventsCommand = clientCommand<Options>({
  usage: 'events',
  description: 'print events as they happen, until interrupted; a lost connection is opened again',
  examples: ["headgate events --types 'job.*,pipeline.completed'", 'headgate events --after 0 --count 10 --json'],
  options: [
    new Option(
      '--types <types>',
      'only events of these types, separated by commas; job.* means every type that begins with "job."',
    ),
    new Option('--job <job_id>', 'only events of this job'),
    new Option('--root <job_id>', 'only events of this job and all its descendants'),
    new Option('--run <job_id>', 'only events of this run and of the jobs inside it'),
    new Option('--after <id>', 'start after the event with this id; 0 starts with the oldest one that is still held'),
    new Option('--count <count>', 'stop after this many events').argParser(parseCount),
  ],
  async run({ options, client, out }) {
    const { follow } = await import('../client/event-stream.ts');
    const path = `/events${queryText({ types: options.types, job_id: options.job, root: options.root, run: options.run })}`;
    let left = options.count ?? Number.POSITIVE_INFINITY;
    for await (const news of follow(client, path, options.after)) {
      if (news.kind === 'lost') out.note(`connection lost (${news.why}); reconnecting`);
      if (news.kind === 'opened') out.note(`listening to ${client.url}`);
      if (news.kind !== 'events') continue;
      for (const event of news.events) {
        await out.item(eventDocument(event), () => eventLine(event));
        if (--left === 0) return;
      }
    }
  },
});
