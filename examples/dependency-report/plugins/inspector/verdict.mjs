// Compares the claimed license with the license texts.
/** @typedef {import('./claim.mjs').Claim} Claim */
/** @typedef {import('./claim.mjs').Expression} Expression */

export const verdicts = /** @type {const} */ ([
  'agrees', // the texts support the claim
  'more', // they do, and there are also texts of other licenses
  'conflicts', // the texts belong to other licenses
  'unclaimed', // there are texts, but no claim
  'no_text', // there is a claim, but no text
  'unrecognized', // a text matches no known license, or the claim cannot be parsed
  'none', // neither claim nor text
]);

/**
 * `effective`: the claim; if there is none, the licenses of the texts. `copyleft`: the strongest copyleft that remains if the most permissive
 * license is chosen wherever the claim offers a choice.
 * @typedef {object} Comparison
 * @property {typeof verdicts[number]} verdict
 * @property {string | null} effective
 * @property {string[]} beyond licenses of texts that the claim does not name
 * @property {'weak' | 'strong' | 'network' | null} copyleft
 */

const strengths = /** @type {const} */ ([null, 'weak', 'strong', 'network']);

/**
 * @param {Claim} made
 * @param {readonly { file: string, licenses: readonly string[] }[]} texts
 * @returns {Comparison}
 */
export function compare(made, texts) {
  const claim = made.expression;
  const found = [...new Set(texts.flatMap(({ licenses }) => licenses))];
  const named = claim === null ? [] : licensesOf(claim);
  const isOpen = claim?.kind === 'file';
  const beyond = claim === null || isOpen ? [] : found.filter(id => !named.some(leaf => fits(leaf, id)));
  const fromTexts = found.length > 0 ? found.join(' AND ') : null;
  const effective = claim === null || isOpen ? fromTexts : print(claim);
  const strength = Math.max(
    ...(claim === null || isOpen ? found : beyond).map(id => strengthOf(id, null)),
    claim === null ? 0 : strengthOfClaim(claim),
  );
  const isUnreadable = claim === null && made.text !== null;
  const verdict = isUnreadable ? 'unrecognized' : judge(claim, texts.length, found, beyond);
  return {
    verdict,
    effective,
    beyond,
    copyleft: strengths[strength] ?? null,
  };
}

/**
 * @param {Expression | null} claim null: there is none
 * @param {number} textCount
 * @param {readonly string[]} found
 * @param {readonly string[]} beyond
 * @returns {Comparison['verdict']}
 */
function judge(claim, textCount, found, beyond) {
  if (claim === null) return found.length > 0 ? 'unclaimed' : textCount > 0 ? 'unrecognized' : 'none';
  if (claim.kind === 'file') return textCount > 0 ? 'agrees' : 'no_text';
  // A package that reserves all rights needs no license text.
  if (claim.kind === 'license' && claim.id === 'UNLICENSED') return found.length > 0 ? 'conflicts' : 'agrees';
  if (textCount === 0) return 'no_text';
  if (found.length === 0) return 'unrecognized';
  if (!holds(claim, found)) return 'conflicts';
  return beyond.length > 0 ? 'more' : 'agrees';
}

/**
 * @param {Expression} claim
 * @param {readonly string[]} found
 * @returns {boolean}
 */
function holds(claim, found) {
  switch (claim.kind) {
    case 'and':
      return claim.of.every(part => holds(part, found));
    case 'or':
      return claim.of.some(part => holds(part, found));
    case 'file':
      return true;
    case 'license':
      return found.some(id => fits(claim.id, id));
  }
}

/**
 * Whether a text is that of the claimed license. A bare family name ("BSD", "GPL") matches every license of the family.
 * @param {string} claimed
 * @param {string} text
 */
function fits(claimed, text) {
  const base = baseOf(claimed);
  return base === baseOf(text) || (['bsd', 'gpl', 'lgpl'].includes(base) && baseOf(text).startsWith(`${base}-`));
}

/** @param {string} id */
function baseOf(id) {
  return id.toLowerCase().replace(/(-only|-or-later|\+)$/, '');
}

/**
 * @param {Expression} claim
 * @returns {string[]}
 */
function licensesOf(claim) {
  if (claim.kind === 'license') return [claim.id];
  return claim.kind === 'file' ? [] : claim.of.flatMap(licensesOf);
}

/**
 * @param {Expression} claim
 * @returns {string}
 */
function print(claim) {
  if (claim.kind === 'file') return `SEE LICENSE IN ${claim.file}`;
  if (claim.kind === 'license') return claim.exception === null ? claim.id : `${claim.id} WITH ${claim.exception}`;
  const parts = claim.of.map(part => (part.kind === 'and' || part.kind === 'or' ? `(${print(part)})` : print(part)));
  return parts.join(claim.kind === 'and' ? ' AND ' : ' OR ');
}

/**
 * @param {Expression} claim
 * @returns {number}
 */
function strengthOfClaim(claim) {
  if (claim.kind === 'file') return 0;
  if (claim.kind === 'license') return strengthOf(claim.id, claim.exception);
  const parts = claim.of.map(strengthOfClaim);
  return claim.kind === 'and' ? Math.max(...parts) : Math.min(...parts);
}

/**
 * How far the copyleft of a license reaches: 0 nowhere, 1 its own files, 2 linked programs, 3 network services.
 * @param {string} id
 * @param {string | null} exception
 */
function strengthOf(id, exception) {
  const base = id.toUpperCase();
  if (/^(AGPL|SSPL|OSL)\b/.test(base)) return 3;
  if (/^GPL\b/.test(base)) return exception === null ? 2 : 1;
  return /^(LGPL|MPL|EPL|CDDL|EUPL|CC-BY-SA)\b/.test(base) ? 1 : 0;
}
