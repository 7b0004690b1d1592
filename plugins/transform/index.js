// transform: evaluates a JSONata expression over the payload. The expression comes from the config, never from the payload.
import jsonata from 'jsonata';

const timeoutMsDefault = 5_000;
const timeoutMsMax = 60_000;
/** The maximum depth of nested evaluations, and the maximum length of a sequence. */
const stackMax = 500;
const sequenceMax = 1_000_000;
/** The maximum depth of a result. */
const nestingMax = 200;

/** The expression, compiled once: each instance has a copy of this module, and its config does not change. @type {jsonata.Expression | null} */
let compiled = null;

/** @type {import('../../runtime/host/api/plugin-api.ts').Handler} */
export async function handle({ event, context, config }) {
  try {
    compiled ??= compile(config);
    const value = await compiled.evaluate(event?.payload, { context });
    const result = isObject(value) ? { ...value } : { value: value ?? null };
    checkJson(result, nestingMax);
    return { result };
  } catch (error) {
    // A retry would fail in the same way.
    return { status: 'error', error: `the expression fails: ${messageOf(error)}`, retry: false };
  }
}

/** @param {import('../../runtime/host/api/plugin-api.ts').JsonObject} config */
function compile({ expression, timeout_ms = timeoutMsDefault }) {
  if (typeof expression !== 'string') throw new Error('config.expression must be a string');
  if (!Number.isInteger(timeout_ms) || Number(timeout_ms) < 1 || Number(timeout_ms) > timeoutMsMax)
    throw new Error(`config.timeout_ms must be a whole number from 1 to ${timeoutMsMax}`);
  return jsonata(expression, { timeout: Number(timeout_ms), stack: stackMax, sequence: sequenceMax });
}

/** Throws if a value is not JSON, or is too deep. @param {unknown} value @param {number} levels the remaining depth */
function checkJson(value, levels) {
  if (typeof value === 'function') throw new Error('it returns a function');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('it returns a number that is too large');
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw new Error(`it returns a value that is nested deeper than ${nestingMax} levels`);
  // Lists that JSONata creates have functions as further properties, so only items are checked.
  for (const item of Array.isArray(value) ? value : Object.values(value)) checkJson(item, levels - 1);
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
