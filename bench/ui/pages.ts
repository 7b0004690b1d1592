// Opens pages of the dashboard in Chromium, and measures how long they take.
import { get } from 'node:http';
import type { BrowserContext, Page } from '../browser.ts';
import type { Service } from '../service.ts';

/** The number of bytes, compressed by gzip, of the page and of everything that it loads before its script runs. */
export async function firstLoadBytes(service: Service): Promise<number> {
  const page = await fetch(new URL('/ui', service.url)).then(answer => answer.text());
  const named = [...page.matchAll(/(?:src|href)="(\/ui\/[^"]+)"/g)].map(match => match[1]!);
  const sizes = await Promise.all(['/ui', ...new Set(named)].map(path => gzipBytes(new URL(path, service.url))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function gzipBytes(url: URL): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: { 'Accept-Encoding': 'gzip' } }, answer => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.on('end', () => resolve(bytes));
    });
    request.on('error', reject);
  });
}

/** Signs in to the dashboard in this context of the browser. */
export async function signIn(context: BrowserContext, service: Service): Promise<void> {
  await context.addInitScript(`sessionStorage.setItem('headgate.token', ${JSON.stringify(service.token)})`);
}

/** How long each visit of the list of jobs takes, from the click until its first rows are drawn, in ms. */
export async function visitJobs(page: Page, service: Service, times: number): Promise<number[]> {
  const timesMs: number[] = [];
  for (let n = 0; n < times; n++) {
    await page.goto(`${service.url}ui#/now`);
    await page.getByRole('heading', { name: 'Now', level: 1 }).waitFor();
    const link = page.getByRole('link', { name: 'Jobs', exact: true });
    await link.waitFor();
    // Measures inside the page, so that the browser's remote control does not count.
    timesMs.push(
      (await page.evaluate(`new Promise(resolve => {
        const link = [...document.querySelectorAll('nav a')].find(node => node.textContent.trim() === 'Jobs');
        const startMs = performance.now();
        const look = () => {
          if (document.querySelector('main table[aria-label=Jobs] tbody tr a')) requestAnimationFrame(() => resolve(performance.now() - startMs));
          else requestAnimationFrame(look);
        };
        link.click();
        look();
      })`)) as number,
    );
    await page.goto('about:blank');
  }
  return timesMs;
}

/**
 * Scrolls through the list of jobs until it has more than `rows` rows. `heapMb`: the size of the page's heap then, in
 * MB. `rowsMax`: the largest number of rows that were in the document at once.
 */
export async function scrollJobs(
  page: Page,
  service: Service,
  rows: number,
): Promise<{ heapMb: number; rowsMax: number }> {
  await page.goto(`${service.url}ui#/jobs`);
  await page.getByRole('row').nth(1).waitFor();
  const rowsMax = (await page.evaluate(`new Promise((resolve, reject) => {
    let most = 0;
    const endMs = performance.now() + 300_000;
    const step = () => {
      const table = document.querySelector('main table');
      most = Math.max(most, document.querySelectorAll('main tbody tr').length);
      if (Number(table.getAttribute('aria-rowcount')) > ${rows}) return resolve(most);
      if (performance.now() > endMs) return reject(new Error('only ' + table.getAttribute('aria-rowcount') + ' rows'));
      scrollTo(0, document.documentElement.scrollHeight);
      const more = [...document.querySelectorAll('main button')].find(node => node.textContent.trim() === 'Show more');
      if (more && !more.disabled) more.click();
      requestAnimationFrame(step);
    };
    step();
  })`)) as number;
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return { heapMb: usedSize / 1_000_000, rowsMax };
}

/** How long the page of a run takes from the arrival of its timeline until its strips and lists are drawn, in ms. */
export async function openRun(page: Page, service: Service, run: string): Promise<number> {
  await page.goto(`${service.url}ui#/run/${run}`);
  const heading = page.getByRole('heading', { name: 'Slowest jobs' });
  await heading.waitFor();
  return (await page.evaluate(`new Promise(resolve => requestAnimationFrame(() => {
    const [timeline] = performance.getEntriesByType('resource').filter(({ name }) => name.includes('/timeline'));
    resolve(performance.now() - timeline.responseEnd);
  }))`)) as number;
}
