// log: writes its payload to the job's log, and returns it.

const levels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];

/** @typedef {import('../../runtime/host/api/plugin-api.ts').LogLevel} LogLevel */

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export function handle({ event, config }, { log }) {
  const { level = 'info', message = '' } = config;
  if (typeof level !== 'string' || !levels.includes(level))
    return { status: 'error', error: `config.level must be one of ${levels.join(', ')}`, retry: false };
  const payload = /** @type {{ [key: string]: unknown }} */ (event?.payload);
  log(/** @type {LogLevel} */ (level), `${message} ${JSON.stringify(payload)}`.trim());
  return { result: payload };
}
