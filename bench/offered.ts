// Offers load: makes a fixed number of calls per second, whatever the answers are.

import { rssMb } from './cost.ts';
import type { Connection } from './load/connection.ts';
import { requestBytes } from './load/request.ts';
import { pause } from './pause.ts';
import type { Service } from './service.ts';

const connectionsMax = 256;
const tickMs = 5;
const memoryEveryMs = 500;
/** The maximum number of ids that are kept: those of the newest accepted jobs. */
const idsMax = 1_000;

export type Offer = {
  readonly path: string;
  readonly payload: object;
  readonly perSecond: number;
  readonly seconds: number;
};

export type Offered = {
  readonly seconds: number;
  readonly accepted: number;
  /** Calls that were answered 503. */
  readonly refused: number;
  /** Calls that were skipped because every connection still waited for an answer. */
  readonly unsent: number;
  readonly newestIds: readonly string[];
  readonly memoryMb: number;
};

/** Offers load to a service. Throws if a call gets an answer other than 202 and 503. */
export async function offer(service: Service, { path, payload, perSecond, seconds }: Offer): Promise<Offered> {
  const { host } = service.url;
  const bytes = requestBytes({ method: 'POST', path, host, token: service.token, body: JSON.stringify({ payload }) });
  const open = Array.from({ length: Math.min(connectionsMax, Math.ceil(perSecond)) }, () => service.connect());
  // The connection that has been idle longest is next, because the service closes connections that stay idle.
  const free: Connection[] = await Promise.all(open);
  const all = [...free];
  let [accepted, refused, unsent, memoryMb] = [0, 0, 0, 0];
  let wrong: string | null = null;
  const newestIds: string[] = [];
  const take = (status: number, body: Buffer): void => {
    if (status === 202) {
      accepted++;
      newestIds.push(JSON.parse(body.toString()).job_id);
      if (newestIds.length > idsMax) newestIds.shift();
    } else if (status === 503) refused++;
    else wrong = `POST ${path}: ${status} ${body.toString()}`;
  };
  for (const connection of all) connection.onFailure(reason => (wrong ??= reason));
  const startMs = performance.now();
  let due = 0;
  let memoryAtMs = 0;
  for (let ms = 0; ms < seconds * 1000 && wrong === null; ms = performance.now() - startMs) {
    for (; due < (ms / 1000) * perSecond; due++) {
      const connection = free.shift();
      if (connection === undefined) unsent++;
      else
        connection.send(bytes, (status, body) => {
          take(status, body);
          free.push(connection);
        });
    }
    if (ms >= memoryAtMs) {
      memoryMb = Math.max(memoryMb, rssMb(service.usage()));
      memoryAtMs = ms + memoryEveryMs;
    }
    await pause(tickMs);
  }
  const measured = (performance.now() - startMs) / 1000;
  while (free.length < all.length && wrong === null) await pause(tickMs);
  for (const connection of all) connection.close();
  if (wrong !== null) throw new Error(wrong);
  return { seconds: measured, accepted, refused, unsent, newestIds, memoryMb };
}
