// Dashboards without a browser. Each keeps a stream of events open, and repeats the reads that a page in Chromium has
// made before. A browser would use the cores of the service that is measured.
import { connect, type Socket } from 'node:net';
import type { BrowserContext } from '../browser.ts';
import { Connection } from '../load/connection.ts';
import { requestBytes } from '../load/request.ts';
import { pause } from '../pause.ts';
import type { Service } from '../service.ts';

export type PageHabits = {
  /** The path of the event stream that the page opened last. */
  readonly stream: string;
  readonly reads: readonly { readonly path: string; readonly everyMs: number }[];
};

/**
 * Opens a page of the dashboard in a browser, and counts its requests during `work`. Only requests after the first
 * second of `work` count.
 */
export async function habitsOf(
  context: BrowserContext,
  service: Service,
  at: string,
  work: () => Promise<unknown>,
): Promise<PageHabits> {
  const page = await context.newPage();
  let stream = '';
  let isWatched = false;
  const counts = new Map<string, number>();
  page.on('request', request => {
    const { pathname, search } = new URL(request.url());
    if (pathname === '/events') stream = pathname + search;
    else if (isWatched) counts.set(pathname + search, (counts.get(pathname + search) ?? 0) + 1);
  });
  await page.goto(`${service.url}ui${at}`);
  await page.getByRole('main').waitFor();
  const working = work();
  // Waits until the page has noticed that the service is busy.
  await pause(1_000);
  isWatched = true;
  const startMs = performance.now();
  await working;
  const watchedMs = performance.now() - startMs;
  await page.close();
  if (stream === '') throw new Error('the page opened no stream of events');
  return { stream, reads: [...counts].map(([path, count]) => ({ path, everyMs: watchedMs / count })) };
}

/** Opens `count` dashboards. The returned function closes them, and returns the number of reads that were answered. */
export async function openDashboards(
  service: Service,
  { stream, reads }: PageHabits,
  count: number,
): Promise<() => number> {
  const { hostname, port, host } = service.url;
  const sockets: Socket[] = [];
  const connections: Connection[] = [];
  const timers: NodeJS.Timeout[] = [];
  let answered = 0;
  for (let n = 0; n < count; n++) {
    const socket = connect({ host: hostname, port: Number(port) });
    socket.on('error', () => {});
    socket.resume();
    socket.write(requestBytes({ method: 'GET', path: stream, host, token: service.token }));
    sockets.push(socket);
    for (const { path, everyMs } of reads) {
      const connection = await Connection.open(hostname, Number(port));
      connections.push(connection);
      const request = requestBytes({ method: 'GET', path, host, token: service.token });
      let isWaiting = false;
      const read = () => {
        if (isWaiting) return;
        isWaiting = true;
        connection.send(request, () => {
          isWaiting = false;
          answered++;
        });
      };
      // The dashboards begin at different times, so that they do not all read at once.
      timers.push(setTimeout(() => timers.push(setInterval(read, everyMs)), (everyMs * n) / count));
    }
  }
  return () => {
    for (const timer of timers) clearInterval(timer);
    for (const connection of connections) connection.close();
    for (const socket of sockets) socket.destroy();
    return answered;
  };
}
