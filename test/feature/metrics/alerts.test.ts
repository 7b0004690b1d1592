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
  const at = (time: string, exp_alerts: readonly object[]) => ({
    eval_time: time,
    alertname: 'HeadgateDown',
    exp_alerts,
  });
  const rules = {
    rule_files: [alerts],
    tests: [
      {
        interval: '1m',
        input_series: instances.flatMap(seriesOf),
        alert_rule_test: [at('10m', []), at('12m', expected), at('4h', expected)],
      },
    ],
  };
  const directory = mkdtempSync(join(tmpdir(), 'headgate-alerts-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, 'rules.yaml');
  writeFileSync(file, JSON.stringify(rules));
  expect(promtool(['test', 'rules', file])).toBe('');
});
