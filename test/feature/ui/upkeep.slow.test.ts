// The dashboard in a real browser: what operators do who run a service and look for causes. The tests share one browser and one service; the last
// one changes its configuration.
import { describe } from 'vitest';
import type { Settings } from '../../service/gateway/configuration.ts';
import { echo, worker } from '../../service/gateway/sources.ts';
import { shareVaultGateway } from '../vault/service.ts';
import { hasBrowser, shareBrowser } from './browser.ts';
import { upkeepFlows } from './flows/upkeep.ts';
import { valueFlows } from './flows/values.ts';
import { greeter } from './service.ts';

const whyNot = hasBrowser ? '' : ' (skipped: Chromium is not installed at /usr/bin/chromium)';

const settings: Settings = {
  plugins: { echo, greeter, worker },
  instances: { copier: { uses: 'echo' } },
  pipelines: [
    {
      name: 'carry',
      steps: [
        { id: 'first', uses: 'copier', baggage: { text: 'payload.text' } },
        { id: 'second', uses: 'copier' },
      ],
    },
  ],
  schedules: [{ id: 'daily', cron: '0 0 * * *', timezone: 'UTC', plugin: 'echo' }],
};

describe.skipIf(!hasBrowser)(`upkeep by the dashboard${whyNot}`, () => {
  shareBrowser();
  const vault = shareVaultGateway(settings);
  const { gateway } = vault;
  describe('values, times and cells', () => valueFlows(gateway));
  describe('deeds', () => upkeepFlows(gateway, () => vault, settings));
});
