// The dashboard in a real browser: what people do with it, by role and name; hostile texts; accessibility. All tests share one browser and
// one service, because both take long to start.
import { beforeAll, describe } from 'vitest';
import { Gateway } from '../../service/gateway/gateway.ts';
import { VaultGateway } from '../vault/service.ts';
import { accessibilityChecks } from './accessibility.ts';
import { hasBrowser, shareBrowser } from './browser.ts';
import { actionFlows } from './flows/actions.ts';
import { hostileFlows } from './flows/hostile.ts';
import { jobFlows } from './flows/jobs.ts';
import { keyboardFlows } from './flows/keyboard.ts';
import { listFlows } from './flows/lists.ts';
import { liveFlows } from './flows/live.ts';
import { narrowFlows } from './flows/narrow.ts';
import { operationFlows } from './flows/operations.ts';
import { pauseFlows } from './flows/pauses.ts';
import { restoredFlows } from './flows/restored.ts';
import { runFlows } from './flows/runs.ts';
import { shiftFlows } from './flows/shifts.ts';
import { signInFlows } from './flows/sign-in.ts';
import { type Minutes, measuredMinutes, stopwatchFlows } from './flows/stopwatch.ts';
import type { Seeded } from './screens.ts';
import { seed, settings } from './service.ts';

const whyNot = hasBrowser ? '' : ' (skipped: Chromium is not installed at /usr/bin/chromium)';

describe.skipIf(!hasBrowser)(`the dashboard in a browser${whyNot}`, () => {
  shareBrowser();
  const gateway = new Gateway(settings);
  let seeded: Seeded;
  let adminToken = '';
  let quick: Minutes;
  beforeAll(async () => {
    const vault = new VaultGateway(gateway);
    adminToken = vault.adminToken;
    await gateway.start();
    await vault.do('secret', { name: 'smtp-password', value: 'correct horse battery', authorized_principals: [] });
    seeded = await seed(gateway);
    quick = await measuredMinutes(gateway, 0);
    return () => gateway.discard();
  });
  describe('sign-in', () => signInFlows(gateway));
  describe('jobs', () => jobFlows(gateway));
  describe('actions over many jobs', () => actionFlows(gateway));
  describe('runs', () => runFlows(gateway, () => seeded));
  describe('plugins, failures, events, schedules and the vault', () => operationFlows(gateway, () => adminToken));
  describe('what is live', () => liveFlows(gateway, () => seeded));
  describe('pauses, breakers and what runs', () => pauseFlows(gateway));
  describe('a restored state', () => restoredFlows());
  describe('narrow pages', () => narrowFlows(gateway, () => seeded));
  describe('layout shifts', () => shiftFlows(gateway, () => seeded));
  describe('keys', () => keyboardFlows(gateway));
  describe('long lists', () => listFlows(gateway));
  describe('hostile texts', () => hostileFlows());
  describe('accessibility', () =>
    accessibilityChecks(
      gateway,
      () => seeded,
      () => adminToken,
    ));
  // Last, because it needs jobs of an earlier minute.
  describe('two windows', () => stopwatchFlows(gateway, () => quick));
});
