// delay: waits, and hands its payload on.
import { setTimeout as pause } from 'node:timers/promises';

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export async function handle({ event, config, deadline_at }, { signal }) {
  const payload = /** @type {{ delay_ms?: number }} */ (event?.payload);
  const delayMs = payload.delay_ms ?? config['delay_ms'];
  if (typeof delayMs !== 'number' || !(delayMs >= 0))
    return { status: 'error', error: 'neither payload.delay_ms nor config.delay_ms says how long', retry: false };
  if (Date.now() + delayMs >= Date.parse(deadline_at)) {
    const error = `${delayMs} ms are longer than an attempt may take; set timeouts.handle of the plugin`;
    return { status: 'error', error, retry: false };
  }
  await pause(delayMs, undefined, { signal });
  return { result: payload };
}
