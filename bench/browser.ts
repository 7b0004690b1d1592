// Debian's Chromium without a window, for the benches and the tests of the dashboard.
import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

export type { Browser, BrowserContext, Locator, Page, Request, Route } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** Whether it is installed. */
export const hasBrowser = existsSync(executablePath);

export function launchBrowser(more: readonly string[] = []): Promise<Browser> {
  // Chromium's sandbox needs rights that root in a container lacks. The only pages are those of the service under test.
  const args = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--force-color-profile=srgb', ...more];
  return chromium.launch({ executablePath, args });
}
