// Actions on all jobs that match filters: the common options of `job cancel`, `job rerun` and `job run-now`, the call that starts an
// action, and the lines that show an action on the terminal.
import { Option } from 'commander';
import type { TextOptions } from '../command.ts';
import { usageFailure } from '../failure.ts';
import { countUpTo, parseCount, parseInstant } from '../quantity.ts';
import { statusPiece, type TerminalLine } from '../terminal/text.ts';
import { formatAt } from '../terminal/time.ts';
import type { ClientCall } from './connect.ts';
import { filterOptions, fingerprintOption } from './lists.ts';
import { type TagOptions, tagOption } from './tags.ts';

type JobOperation = 'cancel' | 'rerun' | 'run_now';
const nameFilters = ['plugin', 'command', 'status', 'pipeline', 'submittedBy'] as const;
const idFilters = ['run', 'root', 'parent', 'rerunOf'] as const;
const otherFilters = ['createdFrom', 'createdTo', 'error', 'fingerprint', 'query', 'from', 'to'] as const;
/** The options that select jobs, in the order in which messages name them. */
const filters = [...nameFilters, ...idFilters, 'tag', ...otherFilters, 'children', 'all'] as const;
type TextFilter = (typeof nameFilters)[number] | (typeof idFilters)[number] | (typeof otherFilters)[number];
type WhereOptions = TagOptions & TextOptions<TextFilter> & { readonly children?: true; readonly all?: true };
export type ActOptions = WhereOptions & {
  readonly dryRun?: true;
  readonly limit?: number;
  readonly perSecond?: number;
  readonly reason?: string;
  /** Only `job rerun` has this option. */
  readonly fromFailed?: true;
};

export type ActionDocument = {
  readonly action_id: string;
  readonly state: string;
  readonly do: JobOperation | 'backfill';
  readonly from?: string;
  /** Absent for a backfill. */
  readonly where?: { readonly [filter: string]: unknown };
  /** Only for a backfill: the schedule, and the period whose occurrences are fired. */
  readonly schedule?: string;
  readonly from_time?: string;
  readonly to_time?: string;
  readonly by: string;
  readonly created_at: string;
  readonly up_to: string;
  readonly matched: number;
  readonly done: number;
  readonly failed: number;
  readonly skipped: { readonly [reason: string]: number };
  readonly limit?: number;
  readonly per_second?: number;
  readonly reason?: string;
};
type Counted = { readonly matched: number; readonly sample: readonly string[]; readonly up_to: string };
type Started = { readonly action_id: string; readonly matched: number; readonly up_to: string };

const perSecondMax = 100_000;
/** The longest wait for the answer to an action. It is this long because the service counts the jobs before it answers. */
const countingMsMax = 290_000;

const fromOption = new Option(
  '--from <time>',
  'only jobs with an attempt that ended at this time or later; 1h means an hour ago',
).argParser(parseInstant);

/**
 * The options for many jobs: filters, `--dry-run`, and limits. Each command declares `--reason` itself. `job rerun` declares
 * `--from-failed`, and gives `--from` and `--tag` a second meaning.
 */
export function actOptions(from: Option = fromOption, tag = tagOption('only jobs with this tag')): Option[] {
  return [
    ...filterOptions(),
    new Option('--pipeline <name>', 'only runs of this pipeline; with --children also the jobs of its steps'),
    new Option('--submitted-by <who>', 'only jobs with this origin, such as api:ci'),
    new Option('--run <job_id>', 'only jobs inside this run; needs --children'),
    new Option('--root <job_id>', 'only this job and its descendants'),
    new Option('--parent <job_id>', 'only children of this job'),
    new Option('--rerun-of <job_id>', 'only reruns of this job'),
    tag,
    new Option('--created-from <time>', 'only jobs that were accepted at this time or later').argParser(parseInstant),
    new Option('--created-to <time>', 'only jobs that were accepted at this time or earlier').argParser(parseInstant),
    new Option('--error <words>', 'only jobs whose last error has all these words'),
    fingerprintOption(),
    new Option('--query <words>', 'only jobs with an attempt whose error, stderr or output has all these words'),
    from,
    new Option('--to <time>', 'only jobs with an attempt that ended at this time or earlier').argParser(parseInstant),
    new Option('--children', 'also jobs inside runs'),
    new Option('--all', 'match every job; required if there is no filter'),
    new Option('--dry-run', 'only count the jobs that match'),
    new Option('--limit <count>', 'take at most this many').argParser(parseCount),
    new Option('--per-second <count>', 'take at most this many per second').argParser(countUpTo(perSecondMax)),
  ];
}

/**
 * Whether the call has options for many jobs (filters, a limit, `--dry-run`) instead of ids. Throws a usage failure if the call
 * has both, or neither.
 */
export function isOverMany({ args, options }: Pick<ClientCall<ActOptions>, 'args' | 'options'>): boolean {
  const { reason: _, ...given } = options;
  const names = Object.keys(optionsOfMany(given));
  if (args.length === 0 && names.length === 0) throw usageFailure('give the ids of jobs, or filters such as --plugin');
  if (args.length > 0 && names.length > 0)
    throw usageFailure(`give either ids or filters: leave out ${names.join(', ')}, or the ids`);
  return args.length === 0;
}

function optionsOfMany(options: ActOptions): { readonly [flag: string]: unknown } {
  const { dryRun, perSecond, limit, ...where } = options;
  const all = { ...whereOf(where), limit, 'per-second': perSecond, 'dry-run': dryRun };
  return Object.fromEntries(
    Object.entries(all).flatMap(([name, value]) =>
      value === undefined ? [] : [[`--${name.replace('_', '-')}`, value]],
    ),
  );
}

/** The filters under their names in the API. */
function whereOf(options: WhereOptions): { readonly [filter: string]: unknown } {
  const given = filters.filter(name => options[name] !== undefined);
  return Object.fromEntries(given.map(name => [name.replace(/[A-Z]/, '_$&').toLowerCase(), options[name]]));
}

/** With `--dry-run`, prints the number of jobs that match, and some of their ids. Otherwise starts the action, and prints its id. */
export async function act(operation: JobOperation, { options, client, out }: ClientCall<ActOptions>): Promise<void> {
  const { dryRun, limit, perSecond, reason, fromFailed } = options;
  const from = fromFailed && 'failed';
  const body = { do: operation, where: whereOf(options), from, limit, per_second: perSecond, reason };
  const requestOptions = { answerMsMax: countingMsMax };
  if (dryRun) {
    const shape = { matched: true, sample: true, up_to: true } as const;
    const counted = await client.post<Counted>('/actions', shape, { ...body, dry_run: true }, requestOptions);
    await out.answer(counted, () => [
      `${jobsText(counted.matched)}, as of ${formatAt(counted.up_to)}`,
      ...counted.sample,
    ]);
    const more = counted.matched - counted.sample.length;
    if (more > 0) out.note(`and ${more} more`);
    noteChildren();
    return;
  }
  const shape = { action_id: true, matched: true, up_to: true } as const;
  const started = await client.post<Started>('/actions', shape, body, requestOptions);
  await out.answer(started, () => [`${started.action_id} ${doing[operation]}: ${jobsText(started.matched)}`]);
  noteChildren();
  out.note(`"headgate action show ${started.action_id}" shows its progress`);

  /** Unless `--children` or `--pipeline` is given, tells the user that jobs inside runs do not match. */
  function noteChildren(): void {
    if (!options.children && !options.pipeline)
      out.note('only runs and direct jobs match; add --children for jobs inside runs');
  }
}

const doing: { readonly [D in JobOperation]: string } = { cancel: 'cancels', rerun: 'reruns', run_now: 'runs now' };

function jobsText(count: number): string {
  return `${count} ${count === 1 ? 'job matches' : 'jobs match'}`;
}

/** The action's progress as text: how many jobs are done, how many failed or were skipped, and how many matched. */
export function progressText({ matched, done, failed, skipped }: ActionDocument): string {
  const left = Object.entries(skipped).map(([reason, count]) => `${count} skipped (${reason})`);
  const pieces = [`${done} done`, ...(failed > 0 ? [`${failed} failed`] : []), ...left];
  return `${pieces.join(', ')} of ${matched}`;
}

export function actionLines(action: ActionDocument): TerminalLine[] {
  const { where, from, limit, per_second: perSecond, reason } = action;
  const more = [
    ...(limit === undefined ? [] : [`at most ${limit}`]),
    ...(perSecond === undefined ? [] : [`${perSecond} a second`]),
    ...(reason === undefined ? [] : [reason]),
  ];
  const deed =
    where === undefined
      ? `${action.do} of ${action.schedule}, from ${formatAt(action.from_time!)} to ${formatAt(action.to_time!)}`
      : `${action.do}${from === undefined ? '' : ` from ${from}`} where ${JSON.stringify(where)}`;
  return [
    [`${action.action_id} `, statusPiece(action.state)],
    [deed, ...more].join('; '),
    `by ${action.by}${where === undefined ? '' : `, of the jobs as of ${formatAt(action.up_to)}`}`,
    progressText(action),
  ];
}
