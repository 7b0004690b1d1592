// transform: evaluates a JSONata expression over the payload. The expression is the config's, never the payload's.
import jsonata from 'jsonata';

const timeoutMsDefault = 5_000;
const timeoutMsMax = 60_000;
/** Nested evaluations, and items of a sequence. */
const stackMax = 500;
const sequenceMax = 1_000_000;

/** An instance is loaded for itself, and its config does not change: what was compiled stays. @type {jsonata.Expression | null} */
let compiled = null;

/** @type {import('../../runtime/host/plugin-api.ts').Handler} */
export async function handle({ event, context, config }) {
  try {
    compiled ??= compile(config);
    const value = await compiled.evaluate(event?.payload, { context });
    return { result: isObject(value) ? { ...value } : { value: value ?? null } };
  } catch (error) {
    // The same expression over the same payload has the same end.
    return { status: 'error', error: `the expression fails: ${messageOf(error)}`, retry: false };
  }
}

/** @param {import('../../runtime/host/plugin-api.ts').JsonObject} config */
function compile({ expression, timeout_ms = timeoutMsDefault }) {
  if (typeof expression !== 'string') throw new Error('config.expression must be a text');
  if (!Number.isInteger(timeout_ms) || Number(timeout_ms) < 1 || Number(timeout_ms) > timeoutMsMax)
    throw new Error(`config.timeout_ms must be a whole number from 1 to ${timeoutMsMax}`);
  return jsonata(expression, { timeout: Number(timeout_ms), stack: stackMax, sequence: sequenceMax });
}

/** @param {unknown} value @returns {value is object} */
function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** JSONata throws plain objects as well. @param {unknown} error */
function messageOf(error) {
  const { code, message, position } = /** @type {{ code?: string, message?: string, position?: number }} */ (error);
  return `${code === undefined ? '' : `${code}: `}${message}${position === undefined ? '' : ` (at ${position})`}`;
}
