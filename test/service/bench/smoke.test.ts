// Benches with their smoke parameters, as a user runs them: each does the work it says, and prints the metrics it promises.
// `npm test` runs one bench, `npm run test:deep` runs all.
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { hasBrowser } from '../../../bench/browser.ts';
import { isDeep } from '../../support/deep.ts';

type Line = {
  readonly bench: string;
  readonly metric: string;
  readonly value: number | string;
  readonly unit: string;
  readonly params: { readonly size: string };
};

const command = fileURLToPath(new URL('../../../dist/bench/main.js', import.meta.url));
const run = promisify(execFile);

const costs = ['rss_service_mb', 'rss_host_mb', 'rss_peak_service_mb', 'rss_peak_host_mb'];

/** The hash changes when parameters, plugins or answers change; then look why, and write the new one here. */
const promised = {
  fanout: { work: 'd96a51198d614bec', metrics: ['children_per_s', 'run_ms', 'cpu_service_s', 'cpu_host_s', ...costs] },
  accept: { work: 'a6809bed02000f65', metrics: ['accepted_per_s', 'p99_ms', 'accepted_while_running_per_s', ...costs] },
  drain: { work: 'acf4a51348fde92f', metrics: ['jobs_per_s', 'cpu_per_job_us', ...costs] },
  io: { work: 'b37cff0b2d1d33d4', metrics: ['jobs_per_s', 'drained_ms', ...costs] },
  latency: {
    work: '6fc88908fe84ab65',
    metrics: [
      'accept_to_start_p50_us',
      'accept_to_start_p99_us',
      'run_p50_us',
      'wait_p50_us',
      'wait_to_run',
      'runs_per_s',
      'runs_per_s_128',
      'runs_minimal_per_s',
      'runs_minimal_per_s_128',
      ...costs,
    ],
  },
  flood: { work: '842af659586cc79d', metrics: ['idle_p50_ms', 'single_p99_ms', 'single_max_ms', ...costs] },
  cancel: {
    work: '4774418039b6652a',
    metrics: ['cancel_answer_ms', 'cancel_ended_s', 'idle_p99_ms', 'single_p99_ms', ...costs],
  },
  indexing: { work: 'fe1d4f05859050b3', metrics: ['succeeded_us', 'failed_us'] },
  'http-read': {
    work: 'dcd499798e712f6c',
    metrics: ['healthz_per_s', 'healthz_p99_ms', 'job_per_s', 'jobs_per_s', 'jobs_p99_ms', ...costs],
  },
  reads: {
    work: '1f0c00da453f5463',
    metrics: [
      'idle_healthz_max_ms',
      'search_ms',
      'search_healthz_max_ms',
      'tree_healthz_p99_ms',
      'leaf_ms',
      'queued_healthz_max_ms',
      'selfcheck_ms',
      'doctor_healthz_max_ms',
      ...costs,
    ],
  },
  timeline: {
    work: '1a0db4553c423ac9',
    metrics: ['timeline_ms', 'timeline_many_ms', 'timeline_kept_ms', 'single_p99_ratio', ...costs],
  },
  ui: {
    work: 'd93854201611e162',
    metrics: ['first_load_kb', 'jobs_page_ms', 'scrolled_heap_mb', 'run_page_ms', 'drain_share'],
  },
  overload: {
    work: '3bf170cfc860461b',
    metrics: ['capacity_per_s', 'goodput_share', 'refused', 'memory_share', 'half_load_p99_share'],
  },
  soak: { work: '1fa852e6c4387f4a', metrics: ['capacity_calls_per_s', 'jobs', 'memoryMb_share', 'p99Ms_share'] },
  search: { work: '289a32267b691c30', metrics: ['rare_p99_ms', 'common_p99_ms', 'index_behind_ms'] },
  failures: { work: '707b7d9736cb750f', metrics: ['failures_p99_ms', 'jobs_p50_ms', 'index_behind_ms'] },
  metrics: { work: '7f50c751afb47431', metrics: ['series', 'text_p99_ms', 'openmetrics_p99_ms', ...costs] },
  turns: {
    work: '6bbb10300f704b0a',
    metrics: [
      'conditions_of_a_chain_turn_max_ms',
      'conditions_of_events_per_s',
      'state_updates_turn_max_ms',
      'state_updates_in_no_order_turn_max_ms',
      'join_turn_max_ms',
      'inflating_turn_max_ms',
      'result_turn_max_ms',
      'large_element_in_with_turn_max_ms',
      'hook_per_s',
    ],
  },
  openapi: {
    work: '7534231a60ba42a4',
    metrics: ['first_ms', 'document_kb', 'cached_per_s', 'unchanged_per_s', ...costs],
  },
  sse: {
    work: '8f2090b1470a90f5',
    metrics: ['accept_p99_ms_without_readers', 'events_per_s_1', 'events_per_s_20', 'accept_p99_ms_20', ...costs],
  },
  plugins: {
    work: 'd0b6e9059bed3fef',
    metrics: [
      'worker_per_s',
      'persistent_python_per_s',
      'persistent_node_p50_us',
      'each_sh_of_bare',
      'bare_python_per_s',
    ],
  },
  bare: {
    work: '174368c08040381f',
    metrics: ['bare_start_p50_us', 'run_p50_us_of_bare', 'runs_per_s', 'bare_runs_per_s_128', 'bare_accepted_per_s'],
  },
  misbehaviour: {
    work: '41ba7564fb95b19c',
    metrics: [
      'program_stdout_idle_p99_us',
      'program_loop_p50_us',
      'program_crash_p99_ratio',
      'worker_exit_p99_ratio',
      'io_late_p99_ratio',
    ],
  },
  'scale-payload': {
    work: 'c3f4bf10b6b9928e',
    metrics: ['drained_per_s_100', 'accept_p99_1000000', 'accepted_mb_per_s_1000000', 'files_per_job_10000'],
  },
  'scale-fanout': { work: 'fd0101f1ff049f3b', metrics: ['children_per_s_10', 'run_p99_100', 'rss_100'] },
  start: { work: '3c4fe30605af8272', metrics: ['cpu_start_ms', 'ready_ms', 'first_job_ms'] },
  backup: { work: 'fb8f4dfab4dbdcfb', metrics: ['backup_s', 'accept_p99_ratio', 'state_mb', 'backup_mb'] },
  batch: {
    work: '459a6f7eebb3d5e6',
    metrics: ['batch_jobs_per_s', 'healthz_p99_ms', 'healthz_p99_ms_beside_singles', 'healthz_p99_ratio', ...costs],
  },
  schedules: { work: 'cb3f1b05d9f48e3d', metrics: ['lateness_p50_ms', 'lateness_p99_ms', 'together_ms'] },
  delayed: {
    work: 'c214e8b49829720b',
    metrics: ['restart_to_ready_ms', 'delayed_jobs_per_s'],
  },
  backlog: {
    work: '8b91530739a87a91',
    metrics: [
      'rss_mb',
      'restart_to_ready_ms',
      'replayed_mb',
      'replay_restart_to_ready_ms',
      'runs_restart_to_ready_ms',
      'runs_rss_restarted_mb',
      'idle_cpu_percent',
      ...costs,
    ],
  },
};

const directory = mkdtempSync(join(tmpdir(), 'headgate-bench-out-'));
afterAll(() => rmSync(directory, { recursive: true }));

const quick = ['fanout'];
const chosen = Object.entries(promised).filter(
  ([name]) => (isDeep || quick.includes(name)) && (name !== 'ui' || hasBrowser),
);

describe('npm run bench', () => {
  test.each(chosen)(
    '%s does its work and prints its metrics',
    async (name, { work, metrics }) => {
      const { stdout } = await run(process.execPath, [command, name, '--json', '--smoke', '--out', directory]);
      const lines = stdout
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as Line);
      const values = Object.fromEntries(lines.map(({ metric, value }) => [metric, value]));
      for (const { bench, params } of lines) expect([bench, params.size]).toEqual([name, 'smoke']);
      for (const metric of metrics) expect(values[metric], metric).toBeGreaterThanOrEqual(0);
      expect(values['work_hash']).toBe(work);
    },
    120_000,
  );

  test.runIf(isDeep)('profile measures every thread and process of a bench', async () => {
    const profiles = join(directory, 'profiles');
    const { stdout } = await run(process.execPath, [
      command,
      'profile',
      'drain',
      '--json',
      '--smoke',
      '--out',
      profiles,
    ]);
    const written = readdirSync(profiles).map(name => name.replace(/-\d+-\d+\.cpuprofile$/, ''));
    expect(written.sort()).toEqual(['host', 'indexer', 'ledger', 'main', 'plugins', 'plugins', 'plugins', 'reads']);
    for (const floor of ['ledger', 'storage'])
      expect(stdout).toMatch(new RegExp(`"metric":"ledger-\\d+-1\\.${floor}"`));
    expect(stdout).toContain(promised.drain.work);
  });

  test('without a name it lists the benches', async () => {
    const { stdout } = await run(process.execPath, [command]);
    for (const name of Object.keys(promised)) expect(stdout).toContain(name);
  });

  test('an unknown name is refused with exit status 2', async () => {
    await expect(run(process.execPath, [command, 'fan-out'])).rejects.toMatchObject({ code: 2 });
  });
});
