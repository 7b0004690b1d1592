// A page whose requests, stream of events and live regions are recorded by the clock of the page, which the test controls.
import type { Gateway } from '../../service/gateway/gateway.ts';
import { until } from '../../service/gateway/until.ts';
import { type Page, type Visit, visit } from './browser.ts';
import { shown } from './screens.ts';

export type Asked = { readonly path: string; readonly atMs: number };
export type Said = { readonly region: number; readonly text: string; readonly atMs: number };

type Observations = {
  readonly asked: readonly Asked[];
  readonly said: readonly Said[];
  /** Requests without an answer. */
  readonly pending: number;
  readonly streams: number;
  readonly streamsMax: number;
  /** The text that event streams have received so far. */
  readonly heard: string;
};

/** Runs in the page, before its own scripts. */
const observing = `(() => {
  const seen = { asked: [], said: [], pending: 0, streams: 0, streamsMax: 0, heard: '' };
  globalThis.seen = seen;
  const send = fetch;
  const answered = (path, options) => {
    seen.pending++;
    return send(path, options).finally(() => seen.pending--);
  };
  const stream = async (path, options) => {
    let isOpen = true;
    const end = () => { if (isOpen) seen.streams--; isOpen = false; };
    seen.streamsMax = Math.max(seen.streamsMax, ++seen.streams);
    options.signal.addEventListener('abort', end);
    try {
      const answer = await answered(path, options);
      const [own, copy] = answer.body.tee();
      void (async () => {
        for await (const text of copy.pipeThrough(new TextDecoderStream())) seen.heard += text;
      })().catch(() => {}).finally(end);
      return new Response(own, { status: answer.status, headers: answer.headers });
    } catch (error) {
      end();
      throw error;
    }
  };
  globalThis.fetch = (path, options) => {
    seen.asked.push({ path: String(path), atMs: Date.now() });
    return String(path).startsWith('/events') ? stream(path, options) : answered(path, options);
  };
  const live = '[aria-live], [role=status], [role=alert]';
  const regions = [];
  const texts = [];
  new MutationObserver(changes => {
    for (const { target } of changes) {
      const element = target instanceof Element ? target : target.parentElement;
      const region = element?.closest(live);
      if (!region) continue;
      if (!regions.includes(region)) regions.push(region);
      const at = regions.indexOf(region);
      const text = region.textContent;
      if (text !== '' && text !== texts[at]) seen.said.push({ region: at, text, atMs: Date.now() });
      texts[at] = text;
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/** A page whose clock stands still until `pass` is called. */
export class ObservedPage {
  readonly page: Page;
  readonly #gateway: Gateway;
  private constructor(page: Page, gateway: Gateway) {
    this.page = page;
    this.#gateway = gateway;
  }

  /** Opens the page. `connection`: the state of the stream that the page shows once it is ready. */
  static async open(gateway: Gateway, given: Visit = {}, connection = 'Live'): Promise<ObservedPage> {
    const prepare = async (page: Page) => {
      await page.addInitScript(observing);
      await page.clock.install();
    };
    const page = await visit(gateway, { ...given, prepare });
    await page.getByRole('button', { name: connection }).waitFor();
    return new ObservedPage(page, gateway);
  }

  /** The clock of the page stands still from now on. */
  async stopClock(): Promise<void> {
    await this.page.clock.pauseAt(((await this.page.evaluate('Date.now()')) as number) + 1_000);
    await this.answered();
  }

  /** Opens a screen while the clock runs, and stops the clock once it is shown. */
  async goTo(at: string): Promise<void> {
    await this.page.clock.resume();
    await this.page.evaluate(`location.hash = ${JSON.stringify(at)}`);
    await shown(this.page);
    await this.stopClock();
  }

  seen(): Promise<Observations> {
    return this.page.evaluate('seen') as Promise<Observations>;
  }

  /** All requests so far but those for events. */
  async asked(): Promise<readonly Asked[]> {
    return (await this.seen()).asked.filter(({ path }) => !path.startsWith('/events'));
  }

  /** Waits until each request has its answer. */
  answered(): Promise<unknown> {
    return until('the page has its answers', async () => (await this.seen()).pending === 0);
  }

  /** Lets time pass on the page, and waits until all its requests are answered. */
  async pass(ms: number): Promise<void> {
    await this.page.clock.runFor(ms);
    await this.answered();
  }

  /** Runs a job; resolves with its id once the page has heard of its end. */
  async hears(command = 'greeter/handle', payload: object = { name: 'Ada' }): Promise<string> {
    const { job_id: id } = await this.#gateway.finished(command, payload);
    const end = new RegExp(`event: job\\.completed\\ndata: [^\\n]*${id}`);
    await until(`the page hears of the end of ${id}`, async () => end.test((await this.seen()).heard));
    return id;
  }
}

/** The times between requests for the same path, whatever its query, in ms. */
export function gapsOf(asked: readonly Asked[]): { readonly path: string; readonly ms: number }[] {
  const last = new Map<string, number>();
  return asked.flatMap(({ path: whole, atMs }) => {
    const path = whole.split('?', 1)[0]!;
    const before = last.get(path);
    last.set(path, atMs);
    return before === undefined ? [] : [{ path, ms: atMs - before }];
  });
}
