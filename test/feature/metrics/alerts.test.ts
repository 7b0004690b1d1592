// The alerts for Prometheus, as Debian's promtool evaluates them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { hasPromtool, promtool } from './scrape.ts';

const alerts = fileURLToPath(new URL('../../../dashboards/alerts.yaml', import.meta.url));

test.skipIf(!hasPromtool)('promtool accepts the alerts', () => {
  expect(promtool(['check', 'rules', alerts])).toBe('');
});

const severity = 'critical';
const description = 'The ledger is silent or its disk is full, another part restarts, or no scrape succeeds.';
const whole = { exp_labels: { severity }, exp_annotations: { summary: 'headgate: the service is down', description } };

/** The alert for this instance, or for one part of it. */
function down(instance: string, part?: string) {
  const summary = `headgate: ${part ?? 'the service'} of ${instance} is down`;
  return {
    exp_labels: { severity, job: 'headgate', instance, ...(part && { part }) },
    exp_annotations: { summary, description },
  };
}

/** The values of an instance, one a minute: those of `up`, and those of `headgate_up` of its ledger. */
type Scraped = readonly [instance: string, up: string, ledger: string];

const seriesOf = ([instance, up, ledger]: Scraped) => [
  { series: `up{job="headgate", instance="${instance}"}`, values: up },
  { series: `headgate_up{job="headgate", instance="${instance}", part="ledger"}`, values: ledger },
];
const until10m = '1+0x10';
const forHours = '1+0x300';

const cases: readonly (readonly [title: string, instances: readonly Scraped[], expected: readonly object[]])[] = [
  [
    'an instance beside one that is up',
    [
      ['a', `${until10m} 0+0x300`, `${until10m} stale`],
      ['b', forHours, forHours],
    ],
    [down('a')],
  ],
  ['the only instance', [['a', `${until10m} 0+0x300`, `${until10m} stale`]], [down('a')]],
  ['a part', [['a', forHours, `${until10m} 0+0x300`]], [down('a', 'ledger')]],
  [
    'no instance that is no longer scraped',
    [
      ['a', `${until10m} stale`, `${until10m} stale`],
      ['b', forHours, forHours],
    ],
    [],
  ],
  ['the service, if nothing is scraped', [['a', `${until10m} stale`, `${until10m} stale`]], [whole]],
];

test.skipIf(!hasPromtool).each(cases)('HeadgateDown fires for %s', (_, instances, expected) => {
  testRules(instances.flatMap(seriesOf), 'HeadgateDown', { '10m': [], '12m': expected, '4h': expected });
});

const own = { job: 'headgate', instance: 'a' };
const missedSeries =
  'headgate_schedule_fires_total{job="headgate", instance="a", schedule="nightly", outcome="missed"}';
const missed = {
  exp_labels: { severity: 'warning', ...own, schedule: 'nightly', outcome: 'missed' },
  exp_annotations: { summary: 'headgate: an occurrence of the schedule nightly did not fire (missed)' },
};

test.skipIf(!hasPromtool).each([
  ['while the service runs', '0x100 1x200'],
  ['while it is down for half an hour', '0x70 stale _x29 1x200'],
  ['while it is down for longer than the alert lasts', '0x10 stale _x89 1x200'],
])('HeadgateScheduleMissed fires for an hour after an occurrence was missed %s', (_, values) => {
  testRules([{ series: missedSeries, values }], 'HeadgateScheduleMissed', {
    '10m': [],
    '105m': [missed],
    '155m': [missed],
    '165m': [],
  });
});

const paused = {
  exp_labels: { severity: 'info', ...own, kind: 'plugin' },
  exp_annotations: {
    summary: 'headgate: there has been a pause of a plugin for a day',
    description: 'Run headgate pauses, and headgate resume if it was forgotten.',
  },
};

test.skipIf(!hasPromtool).each([
  ['although some scrapes fail', '0 1x120 stale _x2 1x140', [paused]],
  ['unless there was a moment without one', '0 1x120 0 1x300', []],
])('HeadgatePausedLong fires when there has been a pause for a day, %s', (_, values, expected) => {
  const series = 'headgate_pauses{job="headgate", instance="a", kind="plugin"}';
  testRules([{ series, values }], 'HeadgatePausedLong', { '20h': [], '25h': expected, '40h': expected }, '10m');
});

/** Fails unless the alert fires as expected, by time. `interval`: that of the values. */
function testRules(
  series: readonly { readonly series: string; readonly values: string }[],
  alertname: string,
  expected: { readonly [time: string]: readonly object[] },
  interval = '1m',
): void {
  const alert_rule_test = Object.entries(expected).map(([eval_time, exp_alerts]) => ({
    eval_time,
    alertname,
    exp_alerts,
  }));
  const rules = {
    rule_files: [alerts],
    evaluation_interval: interval,
    tests: [{ interval, input_series: series, alert_rule_test }],
  };
  const directory = mkdtempSync(join(tmpdir(), 'headgate-alerts-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'rules.yaml');
  writeFileSync(file, JSON.stringify(rules));
  expect(promtool(['test', 'rules', file])).toBe('');
}
