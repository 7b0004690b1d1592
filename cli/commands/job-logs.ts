// The command `headgate job logs`, which prints the errors, stderr and log lines of attempts.
import { Option } from 'commander';
import { clientCommand } from '../client/connect.ts';
import type { JobDocument, LogLineDocument } from '../client/jobs.ts';
import { type Filters, filterOptions, moreLines, type Page, pageOptions } from '../client/lists.ts';
import type { TextOptions } from '../command.ts';
import { parseInstant } from '../quantity.ts';
import { dim, statusPiece, type TerminalLine } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';

type Log = Pick<JobDocument, 'job_id' | 'plugin' | 'command' | 'status' | 'attempt' | 'last_error'> & {
  readonly completed_at: string;
  readonly stderr?: string;
  readonly result?: { readonly logs?: readonly LogLineDocument[] };
};
type LogListPage = Page & { readonly logs: readonly Log[] };
type Options = Filters & TextOptions<'submittedBy' | 'from' | 'to' | 'query'>;

export const jobLogs = clientCommand<Options>({
  usage: 'job logs [job_id]',
  description: 'print the errors, stderr and log lines of attempts, newest first',
  examples: [
    'headgate job logs 0198c0de-0000-7000-8000-000000000000',
    `headgate job logs --plugin greet --query '"connection refused"' --from 1h`,
  ],
  options: [
    ...filterOptions(),
    new Option('--submitted-by <who>', 'only jobs with this origin, such as api:ci'),
    new Option(
      '--from <time>',
      'only attempts that ended at this RFC 3339 time or later; 1h means an hour ago',
    ).argParser(parseInstant),
    new Option('--to <time>', 'only attempts that ended at this time or earlier').argParser(parseInstant),
    new Option(
      '--query <words>',
      'only attempts with these words in their error, stderr or output (field names included)',
    ),
    ...pageOptions(),
  ],
  async run({ options, args, client, out }) {
    const { submittedBy: submitted_by, ...filters } = options;
    const form = { logs: ['job_id', 'plugin', 'command', 'status', 'completed_at'], total: true } as const;
    const query = { ...filters, submitted_by, job_id: args[0], include_result: true };
    const page = await client.get<LogListPage>('/job-logs', form, query);
    await out.answer(page, () => page.logs.flatMap(lines));
    out.note(...moreLines(page.logs.length, page));
  },
});

function lines(log: Log): TerminalLine[] {
  const what = `${log.plugin}.${log.command}`;
  const head: TerminalLine = [
    dim(formatAt(log.completed_at)),
    ` ${what} `,
    statusPiece(log.status),
    ` attempt ${log.attempt} `,
    dim(log.job_id),
  ];
  const logLines = (log.result?.logs ?? []).map(({ level, message }) => `${level}: ${message}`);
  return [
    head,
    ...indented('error', log.last_error),
    ...indented('stderr', log.stderr),
    ...logLines.map(text => `  ${text}`),
  ];
}

function indented(name: string, text = ''): TerminalLine[] {
  const trimmed = text.trimEnd();
  return trimmed === '' ? [] : trimmed.split('\n').map(line => [dim(`  ${name}  `), line]);
}
