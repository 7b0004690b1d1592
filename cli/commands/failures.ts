// The command `headgate failures`, which prints groups of failed jobs with equal errors.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import { moreLines, type Page, pageOptions } from '../client/lists.ts';
import { parseInstant } from '../quantity.ts';
import { sparkline } from '../terminal/plot.ts';
import { table } from '../terminal/table.ts';
import { formatAt } from '../terminal/time.ts';

type FailureDocument = {
  readonly fingerprint: string;
  readonly plugin: string;
  readonly command: string;
  readonly pattern: string;
  readonly count: number;
  readonly trend: readonly number[];
  readonly last_at: string;
};
type FailureListPage = Page & { readonly failures: readonly FailureDocument[] };

type Options = {
  readonly plugin?: string;
  readonly command?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: number;
  readonly cursor?: string;
};

export const failuresCommand = clientCommand<Options>({
  usage: 'failures',
  description:
    'list groups of failed jobs whose errors differ only in numbers, ids and quoted texts; "headgate job list --fingerprint" lists the jobs of one',
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
      failures: ['fingerprint', 'plugin', 'command', 'pattern', 'count', 'last_at'],
      total: true,
    } as const;
    const page = await client.get<FailureListPage>('/failures', form, options);
    const heading = ['FINGERPRINT', 'COUNT', 'LAST 24 HOURS', 'LAST (UTC)', 'WHAT', 'ERROR'];
    await out.answer(page, () => table(heading, page.failures.map(row)));
    out.note(...moreLines(page.failures.length, page));
  },
});

function row({ fingerprint, plugin, command, pattern, count, trend, last_at: at }: FailureDocument) {
  const course = { text: sparkline(trend), style: 'cyan' as const };
  return [fingerprint, String(count), course, formatAt(at), `${plugin}.${command}`, pattern];
}
