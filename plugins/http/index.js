// http: sends a request and returns the response. It never retries itself, but tells the engine whether a retry may help.
import { isUtf8 } from 'node:buffer';
import http from 'node:http';
import { exchange } from './exchange.js';
import { readSettings } from './settings.js';

/** Statuses for which a retry may help; every other status from 400 on is final. */
const retriedStatuses = [408, 425, 429, 500, 502, 503, 504];
/** The maximum depth of JSON in a response. */
const jsonLevelsMax = 100;
const halfPair = /\p{Surrogate}/u;
const redirects = [301, 302, 303, 307, 308];
/** Headers of the connection, which the payload must not set. */
const ownHeaders =
  /^(host|connection|keep-alive|content-length|transfer-encoding|te|trailer|upgrade|expect|proxy-.*)$/i;
/** Headers that another origin must not get. */
const credentials = /^(authorization|cookie|proxy-authorization)$/i;

/**
 * @typedef {{ url: string, method?: string, headers?: { [name: string]: string }, text?: string, json?: unknown }} Order
 * @typedef {import('./exchange.js').Sent} Sent
 * @typedef {import('./settings.js').Settings} Settings
 */

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export async function handle({ event, config, secrets }, { signal, log }) {
  const settings = readSettings(config);
  const timer = AbortSignal.timeout(settings.timeoutMs);
  const bound = AbortSignal.any([signal, timer]);
  let sent = firstRequest(/** @type {Order} */ (event?.payload), settings, secrets ?? {});
  try {
    for (let hops = 0; ; hops++) {
      const received = await exchange(sent, settings, bound);
      const { location } = received.headers;
      if (location === undefined || !redirects.includes(received.status)) return respond(sent, received);
      if (hops === settings.redirectsMax) throw final(`more than ${settings.redirectsMax} redirects`);
      sent = redirected(sent, received.status, location, settings);
      log('debug', `redirected to ${sent.url.origin}`);
    }
  } catch (error) {
    if (timer.aborted) return { status: 'error', error: `no answer after ${settings.timeoutMs} ms` };
    throw error;
  }
}

/**
 * @param {Order} order
 * @param {Settings} settings
 * @param {{ readonly [name: string]: string }} secrets
 * @returns {Sent}
 */
export function firstRequest(order, { baseUrl, headers: own }, secrets) {
  const url = readUrl(order.url, baseUrl ?? undefined);
  /** @type {{ [name: string]: string }} */
  const headers = { 'accept-encoding': 'identity', 'user-agent': 'headgate' };
  for (const [name, value] of Object.entries(order.headers ?? {})) {
    if (ownHeaders.test(name)) throw final(`the payload must not set the header ${name}`);
    headers[name.toLowerCase()] = value;
  }
  if (url.origin === baseUrl?.origin) {
    for (const [name, value] of Object.entries(own)) headers[name.toLowerCase()] = fill(value, secrets);
  }
  const { method = 'GET', text, json } = order;
  if (text !== undefined && json !== undefined) throw final('text and json exclude each other');
  if (json !== undefined) headers['content-type'] ??= 'application/json';
  const body = json === undefined ? text : JSON.stringify(json);
  for (const [name, value] of Object.entries(headers)) checkHeader(name, value);
  return { url, method, headers, body: body === undefined ? null : Buffer.from(body) };
}

/**
 * The next request after a redirect. As in browsers, 303 changes the method to GET, and so do 301 and 302 after a POST. Another origin
 * gets neither credentials nor the headers of the config, and https never becomes http.
 * @param {Sent} sent
 * @param {number} status
 * @param {string} location the value of the header
 * @param {Settings} settings
 * @returns {Sent}
 */
export function redirected(sent, status, location, { headers: own }) {
  // Node decodes headers as Latin-1, but servers send UTF-8, which browsers accept.
  const bytes = Buffer.from(location, 'latin1');
  const url = readUrl(isUtf8(bytes) ? bytes.toString() : location, sent.url);
  if (sent.url.protocol === 'https:' && url.protocol === 'http:')
    throw final(`a redirect from https to ${url.origin} is refused`);
  const becomesGet = (status === 303 && sent.method !== 'HEAD') || (status < 303 && sent.method === 'POST');
  const isElsewhere = url.origin !== sent.url.origin;
  const ownNames = Object.keys(own).map(name => name.toLowerCase());
  const headers = Object.fromEntries(
    Object.entries(sent.headers).filter(
      ([name]) =>
        !(isElsewhere && (credentials.test(name) || ownNames.includes(name))) &&
        !(becomesGet && name === 'content-type'),
    ),
  );
  return becomesGet ? { url, method: 'GET', headers, body: null } : { ...sent, url, headers };
}

/**
 * @param {Sent} sent
 * @param {import('./exchange.js').Received} received
 * @returns {import('../../runtime/host/api/plugin-api.ts').Response}
 */
function respond({ url }, { status, headers, body }) {
  const result = { status, url: url.href, headers, ...contentOf(headers['content-type'] ?? '', body) };
  if (status < 400) return { result };
  return {
    status: 'error',
    error: `${url.origin} answered ${status}`,
    retry: retriedStatuses.includes(status),
    result,
  };
}

/** @param {string} type @param {Buffer} body */
function contentOf(type, body) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
    if (/^application\/([\w.+-]+\+)?json\b/i.test(type)) {
      try {
        const json = JSON.parse(text);
        if (isCarried(json, jsonLevelsMax)) return { json };
      } catch {
        // The body is not JSON, although its type says so.
      }
    }
    return { text };
  } catch {
    return { base64: body.toString('base64') };
  }
}

/**
 * Whether a result can represent the value: it must not be too deep, nor contain an infinite number, half of a surrogate pair or a
 * key `__proto__`.
 * @param {unknown} value @param {number} levels the remaining depth
 * @returns {boolean}
 */
function isCarried(value, levels) {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value === 'string') return !halfPair.test(value);
  if (typeof value !== 'object' || value === null) return true;
  if (levels === 0) return false;
  return Object.entries(value).every(
    ([key, item]) => key !== '__proto__' && !halfPair.test(key) && isCarried(item, levels - 1),
  );
}

/** @param {string} text @param {URL} [base] @returns {URL} */
function readUrl(text, base) {
  if (!URL.canParse(text, base?.href)) throw final(`${JSON.stringify(text)} is not a URL`);
  const url = new URL(text, base);
  if (!/^https?:$/.test(url.protocol)) throw final(`${url.protocol} is neither http nor https`);
  if (url.username !== '' || url.password !== '') throw final('a URL must not contain a user name or password');
  return url;
}

/** Throws a final error for a header that no request can carry. @param {string} name @param {string} value */
function checkHeader(name, value) {
  try {
    http.validateHeaderName(name);
    http.validateHeaderValue(name, value);
  } catch (error) {
    throw final(/** @type {Error} */ (error).message);
  }
}

/** @param {string} text @param {{ readonly [name: string]: string }} secrets the values of `{secrets.NAME}` */
function fill(text, secrets) {
  return text.replace(/\{secrets\.([\w-]+)\}/g, (_, name) => {
    if (!Object.hasOwn(secrets, name)) throw final(`the secret ${name} is not granted`);
    return /** @type {string} */ (secrets[name]);
  });
}

/** @param {string} message */
function final(message) {
  return Object.assign(new Error(message), { retry: false });
}
