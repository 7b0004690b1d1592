// The configuration of an instance, checked.

/**
 * @typedef {{
 *   baseUrl: URL | null,
 *   headers: { [name: string]: string },
 *   allowedHosts: readonly string[],
 *   timeoutMs: number,
 *   responseBytesMax: number,
 *   redirectsMax: number,
 * }} Settings
 */

/**
 * If a value is invalid, throws an error that is not retried.
 * @param {import('../../runtime/host/api/plugin-api.ts').JsonObject} config
 * @returns {Settings}
 */
export function readSettings(config) {
  const { base_url, headers = {}, allowed_hosts = [] } = config;
  const { timeout_ms = 30_000, max_response_bytes = 2 ** 20, max_redirects = 5 } = config;
  const baseUrl = base_url === undefined ? null : readUrl(base_url);
  if (!isTextMap(headers)) throw wrong('headers', 'a map of strings');
  // Headers may hold credentials, and are sent only to the origin of base_url.
  if (baseUrl === null && Object.keys(headers).length > 0)
    throw wrong('base_url', 'set if headers are set: they are sent only to its origin');
  if (!Array.isArray(allowed_hosts) || !allowed_hosts.every(host => typeof host === 'string'))
    throw wrong('allowed_hosts', 'a list of names and addresses, with or without a port');
  return {
    baseUrl,
    headers,
    allowedHosts: allowed_hosts,
    timeoutMs: readCount('timeout_ms', timeout_ms, 1, 3_600_000),
    responseBytesMax: readCount('max_response_bytes', max_response_bytes, 1, 32 * 2 ** 20),
    redirectsMax: readCount('max_redirects', max_redirects, 0, 20),
  };
}

/** @param {unknown} value @returns {URL} */
function readUrl(value) {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong('base_url', 'an http or https URL');
  return url;
}

/** @param {string} key @param {unknown} value @param {number} least @param {number} most */
function readCount(key, value, least, most) {
  if (!Number.isInteger(value) || Number(value) < least || Number(value) > most)
    throw wrong(key, `a whole number from ${least} to ${most}`);
  return Number(value);
}

/** @param {unknown} value @returns {value is { [name: string]: string }} */
function isTextMap(value) {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(text => typeof text === 'string')
  );
}

/** @param {string} key @param {string} expected */
function wrong(key, expected) {
  return Object.assign(new Error(`config.${key} must be ${expected}`), { retry: false });
}
