// The dashboard in a real browser: what the page does by itself, what it says, prints and copies, and what becomes of it when its token ends.
// The tests share one browser and one service.
import { beforeAll, describe } from 'vitest';
import { shareGateway } from '../../service/gateway/gateway.ts';
import { hasBrowser, shareBrowser } from './browser.ts';
import { longListFlows } from './flows/long-lists.ts';
import { presentationFlows } from './flows/presentation.ts';
import { stateChecks } from './flows/states.ts';
import { tokenEndFlows } from './flows/token-ends.ts';
import { updateFlows } from './flows/updates.ts';
import type { Seeded } from './screens.ts';
import { seed, settings } from './service.ts';

const whyNot = hasBrowser ? '' : ' (skipped: Chromium is not installed at /usr/bin/chromium)';

describe.skipIf(!hasBrowser)(`the page of the dashboard${whyNot}`, () => {
  shareBrowser();
  const gateway = shareGateway(settings);
  let seeded: Seeded;
  beforeAll(async () => {
    seeded = await seed(gateway, 5);
  });
  describe('presentation', () => presentationFlows(gateway, () => seeded));
  describe('the end of a token', () => tokenEndFlows());
  describe('long lists', () => longListFlows(gateway));
  describe('updates', () => updateFlows(gateway, () => seeded));
  describe('states of screens', () => stateChecks(gateway, () => seeded));
});
