// The command `headgate status`, which prints the health of the service, its pauses, its queue, and the totals of the last 24 hours.

import { Option } from 'commander';
import { countText } from '../../runtime/text.ts';
import type { AnswerShape, Client } from '../client/client.ts';
import { clientCommand } from '../client/connect.ts';
import { fetchPauses, pauseLines } from '../client/pauses.ts';
import { exitStatus } from '../exit-status.ts';
import { CommandFailure } from '../failure.ts';
import { dim, field, statusPiece, type TerminalLine } from '../terminal/text.ts';
import { formatAt, formatMs } from '../terminal/time.ts';

type Health = {
  readonly status: string;
  readonly uptime_seconds: number;
  readonly plugins_loaded: number;
  readonly config_path: string;
  readonly version: string;
};
type QueueStatus = {
  readonly queue_depth: number;
  readonly running_count: number;
  readonly delayed_count: number;
  readonly waiting_count: number;
  readonly dead_count: number;
  readonly max_workers: number;
  readonly utilization: number;
  readonly vault_sealed?: true;
  readonly active_jobs: readonly {
    readonly job_id: string;
    readonly plugin: string;
    readonly command: string;
    readonly started_at: string;
  }[];
};
type Summary = { readonly window: string; readonly stats: { readonly [status: string]: number } };

const activeShown = 10;

export const statusCommand = clientCommand<{ readonly quiet?: true }>({
  usage: 'status',
  description: 'show whether the service is up, what is queued and running, and how the last 24 hours went',
  examples: ['headgate status', 'headgate status --url http://127.0.0.1:8080 --json'],
  options: [
    new Option(
      '--quiet',
      'print nothing but errors; the exit status says whether the service is up (for health checks)',
    ),
  ],
  statuses: '0 the service is up, 3 it is up, but refuses the token',
  async run({ options, client, out }) {
    const health = await client.get<Health>('/healthz', { status: true, uptime_seconds: true, version: true });
    if (options.quiet) return exitStatus.ok;
    const queue = await ifAllowed<QueueStatus>(client, '/analytics/queue', {
      queue_depth: true,
      active_jobs: ['job_id'],
    });
    const summary = queue && (await ifAllowed<Summary>(client, '/analytics/summary', { stats: true }));
    const paused = await unlessDenied(() => fetchPauses(client));
    const { url } = client;
    await out.answer({ url, health, queue, summary, pauses: paused?.pauses ?? null }, () => [
      ...pauseLines(paused?.pauses ?? []),
      ...(queue?.vault_sealed ? [sealedLine] : []),
      ...healthLines(url, health),
      ...(queue ? queueLines(queue) : []),
      ...(summary ? [summaryLine(summary)] : []),
    ]);
    if (queue) return exitStatus.ok;
    // Every valid token may ask who it is.
    if (client.hasToken && (await ifAllowed(client, '/whoami', {})) === null) {
      out.note('the service refuses the token: it is unknown or has expired');
      return exitStatus.denied;
    }
    out.note('the queue and the summary need a token with the scope *; set HEADGATE_TOKEN');
    return exitStatus.ok;
  },
});

const sealedLine: TerminalLine = [
  { text: 'sealed   ', style: 'yellow' },
  'the vault does not open: until it does, no job is dispatched; headgate doctor says why',
];

/** Resolves with the answer; null if the service refuses access to this path (401 or 403). */
function ifAllowed<Answer>(client: Client, path: string, form: AnswerShape<Answer>): Promise<Answer | null> {
  return unlessDenied(() => client.get<Answer>(path, form));
}

async function unlessDenied<Answer>(ask: () => Promise<Answer>): Promise<Answer | null> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof CommandFailure && error.exitStatus === exitStatus.denied) return null;
    throw error;
  }
}

function healthLines(url: string, health: Health): TerminalLine[] {
  const up = formatMs(health.uptime_seconds * 1000);
  return [
    field('service', `headgate ${health.version} at ${url}, ${health.status}, up ${up}`),
    field('config', `${health.config_path}, ${countText(health.plugins_loaded, 'plugin')}`),
  ];
}

function queueLines(queue: QueueStatus): TerminalLine[] {
  const { queue_depth: queued, running_count: running, delayed_count: delayed, dead_count: dead } = queue;
  const waiting = queue.waiting_count > 0 ? `${queue.waiting_count} scheduled, paused or held, ` : '';
  const busy = `${Math.round(queue.utilization * 100)} % of ${queue.max_workers} workers busy`;
  const active = queue.active_jobs
    .slice(0, activeShown)
    .map(({ job_id, plugin, command: name, started_at }): TerminalLine => {
      return ['           ', `${plugin}.${name} since ${formatAt(started_at)}`, dim(`  ${job_id}`)];
    });
  return [
    field('now', `${queued} queued, ${running} running, ${delayed} delayed, ${waiting}${dead} dead; ${busy}`),
    ...active,
  ];
}

function summaryLine({ window, stats }: Summary): TerminalLine {
  const counts = Object.entries(stats).flatMap(([status, count]) => [`${count} `, statusPiece(status), '  ']);
  return field(window, ...counts.slice(0, -1));
}
