// The dashboard in a real browser: the page of a run, what people do to jobs, pauses, and how the page explains causes. The tests share
// one browser and one service.
import { beforeAll, describe } from 'vitest';
import type { RunTimeline } from '../../../ui/screens/run/timeline.ts';
import type { Settings } from '../../service/gateway/configuration.ts';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { echo, failing, step, worker } from '../../service/gateway/sources.ts';
import { hasBrowser, shareBrowser } from './browser.ts';
import { cancelFlows } from './flows/cancels.ts';
import { deedFlows } from './flows/deeds.ts';
import { heatMapFlows } from './flows/heat-map.ts';
import { holdFlows } from './flows/holds.ts';
import { pauseTargetFlows } from './flows/pause-targets.ts';
import { runAxisFlows } from './flows/run-axis.ts';
import { runJobFlows } from './flows/run-jobs.ts';
import { idleRun } from './idle-run.ts';
import { greeter } from './service.ts';

const whyNot = hasBrowser ? '' : ' (skipped: Chromium is not installed at /usr/bin/chromium)';

/** A program that prints much in each attempt; its first attempt fails. */
const speaker = {
  code: `#!/usr/bin/env node
const { attempt } = JSON.parse(require('node:fs').readFileSync(0));
console.error('warning ' + attempt);
const said = {
  logs: [{ level: 'info', message: 'begins' }, { level: 'error', message: 'attempt ' + attempt + ' of many' }],
  spans: [{ name: 'connect', dur_ns: 1_200 }],
};
const end = attempt === 1 ? { status: 'error', error: 'no such host', retry: true } : { status: 'ok', result: 'found' };
console.log(JSON.stringify({ ...end, ...said }));
`,
  entrypoint: 'main.cjs',
  runtime: 'process',
  commands: { handle: {} },
};

const settings: Settings = {
  service: { max_workers: 4 },
  plugins: { echo, failing, greeter, speaker, step, worker },
  instances: {
    breaking: { uses: 'failing', retry: { max_attempts: 1 }, breaker: { failures: 2, of: 4, for: '1h' } },
    cleaner: { uses: 'worker' },
    later: { uses: 'step' },
    speaker: { retry: { max_attempts: 3, backoff_base: '24h', backoff_max: '24h' } },
  },
  pipelines: [
    {
      name: 'source',
      steps: [
        { id: 'tell', uses: 'step' },
        { id: 'holds', uses: 'worker' },
      ],
    },
    { name: 'heard', on: 'heard', steps: [{ id: 'holds', uses: 'worker' }] },
    {
      name: 'long_end',
      steps: [{ id: 'work', uses: 'worker' }],
      finally: [{ id: 'clean', uses: 'cleaner', with: { gate: '{payload.run.payload.last}' } }],
    },
    {
      name: 'fetch',
      input_schema: {
        type: 'object',
        required: ['url'],
        properties: { url: { type: 'string' }, depth: { type: 'integer', maximum: 3 } },
      },
      steps: [{ id: 'get', uses: 'echo' }],
    },
    {
      name: 'parts',
      steps: [
        { id: 'first', uses: 'step' },
        { id: 'each', uses: 'later', foreach: 'payload.list', fail_fast: false, on_error: 'continue' },
        { id: 'all', uses: 'step', join: 'all' },
      ],
      finally: [{ id: 'tell', uses: 'echo' }],
    },
  ],
};

describe.skipIf(!hasBrowser)(`work by the dashboard${whyNot}`, () => {
  shareBrowser();
  const gateway = shareGateway(settings);
  describe('the page of a run', () => {
    let run: RunTimeline;
    beforeAll(async () => {
      run = await idleRun(gateway);
    });
    runAxisFlows(gateway, () => run);
    runJobFlows(gateway, () => run);
  });
  describe('cancels', () => cancelFlows(gateway));
  describe('deeds', () => deedFlows(gateway));
  describe('the heat map', () => heatMapFlows(gateway));
  describe('pauses', () => pauseTargetFlows(gateway));
  describe('holds', () => holdFlows(gateway, settings));
});
