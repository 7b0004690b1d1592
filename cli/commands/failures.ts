// The command `headgate failures`, which prints groups of failed jobs whose errors have the same pattern.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import { type Filters, moreLines, type Page, pageOptions } from '../client/lists.ts';
import type { TextOptions } from '../command.ts';
import { parseInstant } from '../quantity.ts';
import { type FailureGroupDocument, failureGroupLines } from '../terminal/failures.ts';

type FailureGroupPage = Page & { readonly failures: readonly FailureGroupDocument[] };
type Options = Omit<Filters, 'status'> & TextOptions<'from' | 'to'>;

export const failuresCommand = clientCommand<Options>({
  usage: 'failures',
  description:
    'list groups of failed jobs whose errors differ only in numbers, ids and quoted texts; "headgate job list --fingerprint" lists the jobs of a group',
  examples: ['headgate failures', 'headgate failures --plugin mailer --from 1h'],
  options: [
    new Option('--plugin <name>', 'only jobs of this plugin'),
    new Option('--command <name>', 'only jobs of this command'),
    new Option(
      '--from <time>',
      'only groups whose last job failed at this time or later; 1h means an hour ago',
    ).argParser(parseInstant),
    new Option('--to <time>', 'only groups whose last job failed at this time or earlier').argParser(parseInstant),
    ...pageOptions(),
  ],
  async run({ options, client, out }) {
    const form = {
      failures: ['fingerprint', 'plugin', 'command', 'pattern', 'count', 'trend', 'last_at'],
      total: true,
    } as const;
    const page = await client.get<FailureGroupPage>('/failures', form, options);
    await out.answer(page, () => failureGroupLines(page.failures));
    out.note(...moreLines(page.failures.length, page));
  },
});
