// delay: waits, and returns its payload.
import { setTimeout as pause } from 'node:timers/promises';

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export async function handle({ event, config, deadline_at }, { signal }) {
  const payload = /** @type {{ delay_ms?: number }} */ (event?.payload);
  const delayMs = payload.delay_ms ?? config['delay_ms'];
  if (typeof delayMs !== 'number' || !(delayMs >= 0))
    return {
      status: 'error',
      error: 'payload.delay_ms or config.delay_ms must be the delay in milliseconds',
      retry: false,
    };
  if (Date.now() + delayMs >= Date.parse(deadline_at)) {
    const error = `a delay of ${delayMs} ms is longer than an attempt may take; raise timeouts.handle of the plugin`;
    return { status: 'error', error, retry: false };
  }
  await pause(delayMs, undefined, { signal });
  return { result: payload };
}
