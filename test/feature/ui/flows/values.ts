// Flows that look closely: large values of a job, the list of jobs at an earlier time, the jobs of a cell of the heat map.
import { expect, test } from 'vitest';
import type { Gateway, Job } from '../../../service/gateway/gateway.ts';
import { until } from '../../../service/gateway/until.ts';
import { reopen, visit } from '../browser.ts';

const minuteMs = 60_000;
/** The steps of the slider. */
const sliderSteps = 1_000;

type Cell = {
  readonly at: string;
  readonly to_us: number;
  readonly sample_count: number;
  readonly exemplars: readonly { readonly job_id: string }[];
};
type Measured = { readonly from: string; readonly steps: readonly { readonly heat: readonly Cell[] }[] };

/** The pipeline `carry` of the gateway has two steps `echo`; the first makes baggage of the text of its payload. */
export function valueFlows(gateway: Gateway): void {
  test('large values of a job are left out, and all of each is shown when asked for, to its last digit', async () => {
    const text = 'x'.repeat(70_000);
    const sent = `{"payload":{"text":"${text}","id":9007199254740991,"end":"the last word"}}`;
    const { body } = await gateway.call('POST', '/pipeline/carry?async=true', sent);
    await gateway.settled(String(body['job_id']));
    const second = (await gateway.tree(String(body['job_id']))).at(-1)!;
    const page = await visit(gateway);
    const short = page.waitForResponse(/result=short/);
    await reopen(page, gateway, `#/job/${second.job_id}`);
    expect((await (await short).body()).length).toBeLessThan(text.length);
    for (const name of ['payload', 'result', 'context'])
      await page.getByRole('button', { name: `The ${name} is large: load all` }).waitFor();
    await page.getByRole('button', { name: 'The context is large: load all' }).click();
    const rest = page.getByRole('button', { name: /^Load all \(\d+/ });
    await expect.poll(() => rest.count()).toBe(3);
    const values = ['Payload', 'Result', 'Context'].map(name => page.getByRole('region', { name, exact: true }));
    const lengths = () => Promise.all(values.map(async value => ((await value.textContent()) ?? '').length));
    for (const length of await lengths()) expect(length).toBeLessThanOrEqual(65_536);
    // The whole value is copied, even if only a part is shown.
    await page.getByRole('button', { name: 'Copy Payload' }).click();
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain('"id": 9007199254740991');
    for (let left = 3; left > 0; left--) {
      await rest.first().click();
      await expect.poll(() => rest.count()).toBe(left - 1);
    }
    for (const length of await lengths()) expect(length).toBeGreaterThan(text.length);
    for (const value of values.slice(0, 2)) expect(await value.textContent()).toContain('"end": "the last word"');
  });

  test('the attempts of a job with a large result are read without it, and with it when asked for', async () => {
    const { job_id: id } = await gateway.finished('copier/handle', { text: 'x'.repeat(70_000) });
    const page = await visit(gateway);
    const asked: string[] = [];
    page.on('request', request => {
      if (request.url().includes('/job-logs?')) asked.push(request.url());
    });
    await reopen(page, gateway, `#/job/${id}`);
    const attempts = page.getByRole('list', { name: 'Attempts' });
    const load = page.getByRole('button', { name: 'Load messages and spans (fetches the large result)' });
    await attempts.getByText('Attempt 1').waitFor();
    await load.waitFor();
    expect(asked.filter(url => url.includes('include_result'))).toEqual([]);
    const whole = page.waitForResponse(/[/]job-logs[?].*include_result=true/);
    await load.click();
    expect((await (await whole).body()).length).toBeGreaterThan(70_000);
    await load.waitFor({ state: 'detached' });
    await attempts.getByText('Attempt 1').waitFor();
  });

  test('values that could not be loaded are asked for again, and what is shown stays', async () => {
    const { job_id: id } = await gateway.finished('copier/handle', { text: 'x'.repeat(70_000) });
    const page = await visit(gateway, { at: `#/job/${id}`, expected: [/status of 503/] });
    const load = page.getByRole('button', { name: 'The payload is large: load all' });
    await load.waitFor();
    await page.route(/include=payload/, route => route.fulfill({ status: 503, body: '' }), { times: 1 });
    await load.click();
    const retry = page.getByRole('alert').getByRole('button', { name: 'Try again' });
    await retry.waitFor();
    expect(await load.count()).toBe(1);
    await retry.click();
    await page.getByRole('region', { name: 'Payload', exact: true }).getByText('xxx').waitFor();
    await retry.waitFor({ state: 'detached' });
  });

  test('the slider of the list goes back in time, and to the present again', async () => {
    const first = await gateway.finished('greeter/handle', { name: 'Ada' });
    const firstMs = Date.parse(first.created_at);
    await until('a job accepted now is noticeably later', () => Date.now() > firstMs + 50);
    const second = await gateway.finished('greeter/handle', { name: 'Grace' });
    const secondMs = Date.parse(second.created_at);
    const [fromMs, nowMs] = [firstMs - 1_000, secondMs + 5_000];
    const page = await visit(gateway, {
      at: `#/jobs?plugin=greeter&from=${new Date(fromMs).toISOString()}`,
      prepare: page => page.clock.setFixedTime(nowMs),
    });
    const row = ({ job_id: id }: Job) => page.getByRole('table', { name: 'Jobs' }).getByTitle(id, { exact: true });
    await row(second).waitFor();
    const slider = page.getByRole('slider', { name: 'Up to now' });
    const between = ((firstMs + secondMs) / 2 - fromMs) / (nowMs - fromMs);
    await slider.fill(String(Math.round(between * sliderSteps)));
    await row(second).waitFor({ state: 'detached' });
    await row(first).waitFor();
    await page.getByRole('slider', { name: /^Up to \d{4}-\d\d-\d\d / }).waitFor();
    await page.getByText('1 job matches').waitFor();
    expect(page.url()).toMatch(/[?&]to=/);
    await page.getByRole('button', { name: 'Up to now' }).click();
    await row(second).waitFor();
    expect(page.url()).not.toMatch(/[?&]to=/);
  });

  test('a cell of the heat map names its longest jobs, and leads to the jobs of its time', async () => {
    const jobs: Job[] = [];
    for (let n = 0; n < 3; n++) jobs.push(await gateway.finished('greeter/handle', { name: 'Ada' }));
    const toMs = Math.ceil((Date.now() + 1) / minuteMs) * minuteMs;
    const [from, to] = [toMs - 60 * minuteMs, toMs].map(ms => new Date(ms).toISOString());
    const page = await visit(gateway);
    const answer = page.waitForResponse(/heat=true/);
    await reopen(page, gateway, `#/stopwatch/greeter?step=handle.run&from=${from}&to=${to}`);
    const { steps, from: start } = (await (await answer).json()) as Measured;
    const { heat } = steps[0]!;
    // A cell whose minute is also that in which one of its jobs was accepted.
    const minuteOf = (time: string) => Math.floor(Date.parse(time) / minuteMs);
    const job = jobs.find(({ created_at: created, completed_at: ended }) => minuteOf(created) === minuteOf(ended!))!;
    const cell = heat.findLast(({ at }) => minuteOf(at) === minuteOf(job.created_at))!;
    const map = page.getByRole('img', { name: /^\d+ samples between/ });
    const { width, height } = (await map.boundingBox())!;
    const tops = heat.map(({ to_us: top }) => Math.log2(top));
    const rows = Math.max(...tops) - Math.min(...tops) + 1;
    const place = {
      x: ((Date.parse(cell.at) - Date.parse(start)) / minuteMs + 0.5) * (width / 60),
      y: (Math.max(...tops) - Math.log2(cell.to_us) + 0.5) * (height / rows),
    };
    await map.click({ position: { x: 3, y: 3 } });
    await page.getByText('Choose a cell to see its jobs.').waitFor();
    await map.click({ position: place });
    await page.getByText(new RegExp(`^${cell.sample_count} samples? from .*, ended between`)).waitFor();
    const longest = page.getByRole('list', { name: 'The longest of them' });
    for (const { job_id: id } of cell.exemplars) await longest.getByTitle(id, { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Jobs accepted in this time' }).click();
    await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor();
    await page.getByRole('table', { name: 'Jobs' }).getByTitle(job.job_id, { exact: true }).waitFor();
    expect(new URL(page.url()).hash).toMatch(/^#\/jobs\?plugin=greeter&command=handle&from=.*&to=/);
  });
}
