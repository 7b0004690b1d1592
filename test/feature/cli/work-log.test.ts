// The limit of log lines about jobs: lines beyond it are counted, and their number is logged at the end of the minute.
import { expect, test } from 'vitest';
import type { JobObservations, ObservationType } from '../../../actors/hub/protocol.ts';
import { WorkLog } from '../../../cli/start/work-log.ts';
import type { Config } from '../../../config/config.ts';
import { problem } from '../../../http/problem.ts';
import type { Logger } from '../../../runtime/log.ts';

function jobs(type: ObservationType, count: number): JobObservations {
  const errors = Array.from({ length: count }, (_, k) => `error ${k}`);
  return { kind: 'jobs', type, atUs: 1, plugin: 'p', command: 'c', ids: new Uint8Array(16 * count), errors };
}

/** `told`: the messages, and the numbers of omitted lines. */
function open(settings: Config['log'], silent: readonly string[] = ['debug']) {
  const told: (string | number)[] = [];
  let endMinute = (): void => {};
  const write = ({ left_out: leftOut }: { readonly left_out?: number }, message: string) =>
    void told.push(leftOut ?? message);
  const debug = (_: object, message: string) => void told.push(`debug: ${message}`);
  const log = { isLevelEnabled: (level: string) => !silent.includes(level), debug, info: write, warn: write };
  const later = (act: () => void, ms: number) => {
    expect(ms).toBe(60_000);
    endMinute = act;
  };
  const workLog = new WorkLog({ log: log as unknown as Logger, settings: () => settings, later });
  return { told, workLog, endMinute: () => endMinute() };
}

test('what is left out of a minute is told at its end, once; the next minute has its own lines', () => {
  const { told, workLog, endMinute } = open({ format: null, jobs: 'failed', perMinute: 2 });
  workLog.observe([jobs('job.failed', 1), jobs('job.completed', 9), jobs('job.dead', 5)]);
  expect(told).toEqual(['job failed', 'job is dead']);
  endMinute();
  expect(told.splice(0)).toEqual(['job failed', 'job is dead', 4]);
  workLog.observe([jobs('job.timed_out', 2)]);
  endMinute();
  expect(told).toEqual(['job timed out', 'job timed out']);
});

test('refused calls and deliveries have lines of their own, so that nobody keeps the failures of jobs out of the log', () => {
  const { told, workLog, endMinute } = open({ format: null, jobs: 'failed', perMinute: 1 });
  const refused = { method: 'GET', route: null, status: 401, durationUs: 5, token: null, requestId: 'r' };
  const calls = workLog.serverLog(true);
  for (let call = 0; call < 3; call++) calls.refused(refused);
  workLog.refusedDelivery('e', problem('forbidden', 'refused'));
  workLog.serverLog(false).refused(refused);
  workLog.observe([jobs('job.failed', 1)]);
  expect(told).toEqual(['a call without a valid token', 'a webhook delivery was refused', 'job failed']);
  endMinute();
});

test.each([
  ['none', [], []],
  ['failed', ['attempt failed', 'job failed'], ['debug']],
  ['failed', ['debug: job succeeded', 'attempt failed', 'job failed'], []],
  ['all', ['job succeeded', 'attempt failed', 'job failed'], []],
  ['all', ['attempt failed', 'job failed'], ['debug', 'info']],
] as const)('log.jobs: %s tells %j where the levels %j are off', (which, expected, silent) => {
  const { told, workLog } = open({ format: null, jobs: which, perMinute: 10 }, silent);
  workLog.observe([
    jobs('job.started', 1),
    jobs('job.completed', 1),
    jobs('job.retry_scheduled', 1),
    jobs('job.failed', 1),
    jobs('pipeline.failed', 1),
  ]);
  expect(told).toEqual(expected);
});
