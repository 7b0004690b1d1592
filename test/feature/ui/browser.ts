// One Chromium for all tests of the dashboard. Each page fails its test on a request to another origin, a report of the content security
// policy, an error on the console, and an exception that no code catches.
import { beforeAll, expect, onTestFinished } from 'vitest';
import { type Browser, type BrowserContext, launchBrowser, type Page, type Request } from '../../../bench/browser.ts';
import { refusedToastMs, toastMs } from '../../../ui/core/toast-times.ts';
import { everythingToken } from '../../service/gateway/configuration.ts';

export type { Locator, Page, Route } from '../../../bench/browser.ts';
export { hasBrowser } from '../../../bench/browser.ts';

/** How long a test waits for what it expects on a page. */
const waitMsMax = 60_000;
/** Where the dashboard keeps its token. */
const storageKey = 'headgate.token';

export type Visit = {
  /** The fragment of the URL. */
  readonly at?: string;
  /** The token of the session; null if nobody is signed in. */
  readonly token?: string | null;
  readonly size?: { readonly width: number; readonly height: number };
  readonly theme?: 'light' | 'dark';
  /** Errors on the console that belong to the test, such as those of requests that are refused. */
  readonly expected?: readonly RegExp[];
  /** Toasts stay: a slow test would look for one that is gone by then. */
  readonly keepsToasts?: boolean;
  /** Switches the content security policy off, for tools that put scripts into the page. */
  readonly bypassCSP?: boolean;
  /** Called with the page before it is opened. */
  readonly prepare?: (page: Page) => Promise<unknown>;
};

/** The part of a gateway that a page needs. */
export type Site = { readonly url: string };

let browser: Browser | null = null;

/** A name of this machine for the browser, which gives pages from there by HTTP only the features of insecure pages: no clipboard, for example. */
const insecureHost = 'headgate.test';

/** Runs in the page, before its own scripts: the timers that remove toasts never fire. */
const withoutToastEnds = `{
  const start = setTimeout;
  globalThis.setTimeout = (run, ms, ...more) =>
    ms === ${toastMs} || ms === ${refusedToastMs} ? 0 : start(run, ms, ...more);
}`;

/** Starts the browser for the tests of this file. */
export function shareBrowser(): void {
  beforeAll(async () => {
    browser = await launchBrowser([`--host-resolver-rules=MAP ${insecureHost} 127.0.0.1`]);
    return async () => {
      await browser?.close();
      browser = null;
    };
  });
}

/** Opens the dashboard for the current test, which fails at its end if the page had a fault. */
export async function visit(site: Site, given: Visit = {}): Promise<Page> {
  const context = await newContext(given);
  const { token = everythingToken, at = '#/now', expected = [], keepsToasts = false, prepare } = given;
  // Sets the token only before the first load: a token that the page has removed stays removed when the page reloads.
  const keep = `if (!sessionStorage.getItem('opened')) sessionStorage.setItem('${storageKey}', ${JSON.stringify(token)})`;
  const begin = [...(token === null ? [] : [keep]), `sessionStorage.setItem('opened', '1')`].join(';');
  await context.addInitScript(begin);
  if (keepsToasts) await context.addInitScript(withoutToastEnds);
  context.setDefaultTimeout(waitMsMax);
  const page = await context.newPage();
  const faults = watchFaults(page, site);
  onTestFinished(async () => {
    // A route that is being answered when its page goes would otherwise throw, outside of any test.
    if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    const found = faults.filter(fault => !expected.some(pattern => pattern.test(fault)));
    expect(found, 'faults of the page').toEqual([]);
  });
  await prepare?.(page);
  await page.goto(`${site.url}/ui${at}`);
  return page;
}

/** The same service, as a page without HTTPS sees it from another machine. */
export function insecureSite({ url }: Site): Site {
  const { port } = new URL(url);
  return { url: `http://${insecureHost}:${port}` };
}

/** Loads the dashboard again in a page that has been opened, which is quicker than another page: its two paths are two documents. */
export async function reopen(page: Page, site: Site, at: string): Promise<void> {
  const path = new URL(page.url()).pathname === '/ui' ? '/ui/' : '/ui';
  await page.goto(site.url + path + at);
}

export function newContext({ size, theme, bypassCSP = false }: Visit): Promise<BrowserContext> {
  return browser!.newContext({
    viewport: size ?? { width: 1440, height: 900 },
    colorScheme: theme ?? 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'UTC',
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
    bypassCSP,
  });
}

/** The faults of a page so far; the list grows. */
export function watchFaults(page: Page, site: Site): readonly string[] {
  const faults: string[] = [];
  const { origin: own } = new URL(site.url);
  const isForeign = (request: Request) => {
    const { protocol, origin } = new URL(request.url());
    return protocol !== 'data:' && origin !== own;
  };
  page.on('request', request => {
    if (isForeign(request)) faults.push(`a request to another origin: ${request.url()}`);
  });
  page.on('pageerror', error => faults.push(`an exception: ${error.stack ?? error.message}`));
  page.on('console', message => {
    if (message.type() === 'error')
      faults.push(`an error on the console: ${message.text()} (${message.location().url})`);
  });
  void page.addInitScript(
    `addEventListener('securitypolicyviolation', event =>
      console.error('content security policy: ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))`,
  );
  return faults;
}
