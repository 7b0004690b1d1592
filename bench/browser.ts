// Debian's Chromium without a window, for the benches and the tests of the dashboard.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

export type { Browser, BrowserContext, Locator, Page, Request, Route } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** Whether Chromium is installed. */
export const hasBrowser = existsSync(executablePath);

/**
 * The features of Chromium that are disabled. The first two load pages for the address bar of each window, which nobody sees and which
 * would take a third of the processor time of a short visit. The others are Playwright's own list, which this list replaces.
 */
const withoutFeatures = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'AimEnabled',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
];

/** `more`: further options of the browser's command line. */
export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  // Chromium's sandbox needs rights that root in a container lacks. The only pages are those of the service under test.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb'];
  const features = `--disable-features=${withoutFeatures.join(',')}`;
  return chromium.launch({ executablePath, args: [...args, features, ...more] });
}
