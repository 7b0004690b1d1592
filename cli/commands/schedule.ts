// The commands `headgate schedule …` that list, show, run, pause, resume and backfill the schedules of the running service.

import { Option } from 'commander';
import { countText } from '../../runtime/text.ts';
import { submit } from '../client/call.ts';
import { segment } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { moreLines, type Page, pageOptions } from '../client/lists.ts';
import { type ScheduleDocument, scheduleLines, targetOf, whenOf } from '../client/schedules.ts';
import type { CommandDeclaration } from '../command.ts';
import { parseInstant, parseMs } from '../quantity.ts';
import { table } from '../terminal/table.ts';
import { formatAt } from '../terminal/time.ts';
import { scheduleNext } from './schedule-next.ts';

type SchedulePage = Page & { readonly schedules: readonly ScheduleDocument[] };

const scheduleList = clientCommand<{ readonly limit?: number; readonly cursor?: string }>({
  usage: 'schedule list',
  description: 'list schedules, when each fires next and how its last firing ended',
  examples: ['headgate schedule list', 'headgate schedule list --json'],
  options: pageOptions(),
  async run({ client, options, out }) {
    const page = await client.get<SchedulePage>('/schedules', { schedules: ['id', 'state'], total: true }, options);
    const rows = page.schedules.map(schedule => {
      const { id, state, next_run_at: next, history = [] } = schedule;
      return [id, state, targetOf(schedule), whenOf(schedule), formatAt(next), history[0]?.outcome ?? ''];
    });
    await out.answer(page, () => table(['SCHEDULE', 'STATE', 'RUNS', 'WHEN', 'NEXT (UTC)', 'LAST'], rows));
    out.note(...moreLines(page.schedules.length, page));
  },
});

const scheduleShow = clientCommand({
  usage: 'schedule show <schedule>',
  description: 'show a schedule: its next occurrences, its pause and its latest firings',
  examples: ['headgate schedule show nightly'],
  async run({ client, args, out }) {
    const schedule = await client.get<ScheduleDocument>(pathOf(args[0]!), { id: true, state: true, next: true });
    await out.answer(schedule, () => scheduleLines(schedule));
  },
});

type RunOptions = { readonly wait?: true; readonly timeout?: number; readonly idempotencyKey?: string };

const scheduleRun = clientCommand<RunOptions>({
  usage: 'schedule run <schedule>',
  description: 'run the target of a schedule now; the schedule itself continues as before',
  examples: ['headgate schedule run nightly --wait'],
  options: [
    new Option('--wait', 'wait for the job, and print its result'),
    new Option('--timeout <duration>', 'how long to wait; after that the exit status is 5').argParser(parseMs),
    new Option('--idempotency-key <key>', 'calls with the same key run once'),
  ],
  statuses:
    '0 the job was accepted (with --wait: succeeded), 1 it failed, 5 it or the wait for it timed out, 6 it was cancelled',
  run: call => submit(`${pathOf(call.args[0]!)}/run`, {}, call, call.options.wait === true),
});

const schedulePause = clientCommand<{ readonly reason?: string }>({
  usage: 'schedule pause <schedule>',
  description: 'stop a schedule from firing until it is resumed',
  examples: ['headgate schedule pause nightly --reason "the warehouse moves"'],
  options: [new Option('--reason <text>', 'why; shown with the schedule')],
  async run({ client, options, args, out }) {
    const shape = { id: true, by: true, since: true } as const;
    const paused = await client.post<{ readonly id: string }>(`${pathOf(args[0]!)}/pause`, shape, options);
    await out.answer(paused, () => [`the schedule ${paused.id} is paused`]);
  },
});

const scheduleResume = clientCommand({
  usage: 'schedule resume <schedule>',
  description: 'let a paused schedule fire again; its catch_up decides what happens to the times that it missed',
  examples: ['headgate schedule resume nightly'],
  async run({ client, args, out }) {
    const shape = { id: true, resumed: true } as const;
    type Resumed = { readonly id: string; readonly resumed: boolean };
    const answer = await client.post<Resumed>(`${pathOf(args[0]!)}/resume`, shape, {});
    await out.answer(answer, () => [`the schedule ${answer.id} ${answer.resumed ? 'is resumed' : 'was not paused'}`]);
  },
});

type BackfillOptions = {
  readonly from: string;
  readonly to: string;
  readonly reason?: string;
  readonly dryRun?: true;
};
type Backfill = { readonly matched: number; readonly already_fired?: number; readonly action_id?: string };

const scheduleBackfill = clientCommand<BackfillOptions>({
  usage: 'schedule backfill <schedule>',
  description: 'fire the occurrences of a period of the past that have not fired, as an action',
  examples: ['headgate schedule backfill nightly --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --dry-run'],
  options: [
    new Option('--from <time>', 'the beginning (RFC 3339), or 2d for two days ago')
      .argParser(parseInstant)
      .makeOptionMandatory(),
    new Option('--to <time>', 'the end (RFC 3339), or 1h for an hour ago')
      .argParser(parseInstant)
      .makeOptionMandatory(),
    new Option('--reason <text>', 'why; shown with the action'),
    new Option('--dry-run', 'only count the occurrences'),
  ],
  async run({ client, options, args, out }) {
    const { from, to, reason, dryRun } = options;
    const body = { from, to, reason, dry_run: dryRun };
    const answer = await client.post<Backfill>(`${pathOf(args[0]!)}/backfill`, { matched: true }, body);
    const { matched, already_fired: fired, action_id: id } = answer;
    const occurrences = countText(matched, 'occurrence');
    await out.answer(answer, () => [
      id === undefined ? `${occurrences}; already fired: ${fired}` : `${id}  ${occurrences}`,
    ]);
  },
});

function pathOf(id: string): string {
  return `/schedule/${segment(id)}`;
}

export const scheduleCommands: readonly CommandDeclaration[] = [
  scheduleList,
  scheduleShow,
  scheduleNext,
  scheduleRun,
  schedulePause,
  scheduleResume,
  scheduleBackfill,
];
