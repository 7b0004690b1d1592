// Splits a text into paragraphs at empty lines. Runs on a thread of the plugin host.

/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Request} Request */
/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Response} Response */

/**
 * Emits no events: the next step starts once, with the result as its payload.
 * @param {Request} request
 * @returns {Response}
 */
export function handle(request) {
  const { payload } = /** @type {{ payload: { text: string } }} */ (request.payload);
  const paragraphsMax = Number(request.config['paragraphs_max'] ?? 1000);
  const paragraphs = split(payload.text);
  if (paragraphs.length > paragraphsMax) {
    const error = `the text has ${paragraphs.length} paragraphs; config.paragraphs_max allows ${paragraphsMax}`;
    return { status: 'error', error, retry: false };
  }
  return { result: { paragraphs } };
}

/** @param {string} text */
export function split(text) {
  return text
    .split(/\r?\n[ \t]*\r?\n/)
    .map(paragraph => paragraph.trim())
    .filter(paragraph => paragraph !== '');
}
