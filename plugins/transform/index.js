// transform: evaluates a JSONata expression over the payload. The expression is the config's, never the payload's.
import jsonata from 'jsonata';

const timeoutMsDefault = 5_000;
const timeoutMsMax = 60_000;
/** Nested evaluations, and items of a sequence. */
const stackMax = 500;
const sequenceMax = 1_000_000;
/** Levels of a result. */
const nestingMax = 200;

/** An instance is loaded for itself, and its config does not change: what was compiled stays. @type {jsonata.Expression | null} */
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
    // The same expression over the same payload has the same end.
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

/** Throws where a value is none of JSON's, or too deep. @param {unknown} value @param {number} levels it may have */
function checkJson(value, levels) {
  if (typeof value === 'function') throw new Error('it gives a function');
  if (typeof value === 'number' && !Number.isFinite(value)) throw new Error('it gives a number that is too large');
  if (typeof value !== 'object' || value === null) return;
  if (levels === 0) throw new Error(`it gives what is nested deeper than ${nestingMax} levels`);
  // A list of JSONata's own has functions beside its items.
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
