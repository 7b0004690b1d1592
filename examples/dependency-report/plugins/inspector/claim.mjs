// Reads the license that package.json claims: an SPDX expression, or an older form.

/**
 * @typedef {{ kind: 'license', id: string, exception: string | null }
 *   | { kind: 'and' | 'or', of: Expression[] }
 *   | { kind: 'file', file: string }} Expression
 * `file`: "SEE LICENSE IN file". `UNLICENSED` is a license that matches no text.
 */
/**
 * `text` null: no license is claimed. `expression` null: the text cannot be parsed.
 * @typedef {{ text: string | null, expression: Expression | null, problems: string[] }} Claim
 */

// Spellings from before SPDX that are still in use. "BSD" and "GPL" name only a family.
const aliases = new Map(
  Object.entries({
    'mit license': 'MIT',
    'the mit license': 'MIT',
    'mit/x11': 'MIT',
    x11: 'MIT',
    apache: 'Apache-2.0',
    'apache 2': 'Apache-2.0',
    apache2: 'Apache-2.0',
    'apache 2.0': 'Apache-2.0',
    'apache-2': 'Apache-2.0',
    'apache license 2.0': 'Apache-2.0',
    'apache license, version 2.0': 'Apache-2.0',
    bsd: 'BSD',
    'new bsd': 'BSD-3-Clause',
    'bsd-3': 'BSD-3-Clause',
    'bsd 3-clause': 'BSD-3-Clause',
    'bsd-2': 'BSD-2-Clause',
    'bsd 2-clause': 'BSD-2-Clause',
    gpl: 'GPL',
    gplv2: 'GPL-2.0',
    gplv3: 'GPL-3.0',
    lgpl: 'LGPL',
    lgplv3: 'LGPL-3.0',
    'mpl 2.0': 'MPL-2.0',
    'mpl-2': 'MPL-2.0',
    cc0: 'CC0-1.0',
    'public domain': 'Unlicense',
  }),
);

/**
 * @param {{ [key: string]: unknown }} json
 * @returns {Claim}
 */
export function readClaim(json) {
  const field = json['license'] ?? json['licence'] ?? json['licenses'];
  const names = (Array.isArray(field) ? field : [field]).map(nameOf).filter(name => name !== '');
  const text = names.join(' OR ');
  if (text === '') {
    const isOdd = field !== undefined && field !== null && field !== '';
    return { text: null, expression: null, problems: isOdd ? ['the license claim has an unknown form'] : [] };
  }
  const problems = typeof field === 'string' ? [] : ['the license claim has a form that npm has deprecated'];
  const parts = names.map(parseClaim);
  if (parts.some(part => part.isOld)) problems.push(`"${text}" is not an SPDX expression`);
  const of = parts.flatMap(part => (part.expression === null ? [] : [part.expression]));
  if (of.length < parts.length) return { text, expression: null, problems };
  return { text, expression: of.length === 1 ? /** @type {Expression} */ (of[0]) : { kind: 'or', of }, problems };
}

/**
 * @param {unknown} entry
 * @returns {string}
 */
function nameOf(entry) {
  if (typeof entry === 'string') return entry.trim();
  if (typeof entry !== 'object' || entry === null) return '';
  const { type, name } = /** @type {{ type?: unknown, name?: unknown }} */ (entry);
  return nameOf(typeof type === 'string' ? type : typeof name === 'string' ? name : '');
}

/**
 * @param {string} text
 * @returns {{ expression: Expression | null, isOld: boolean }} expression null: the text cannot be parsed
 */
function parseClaim(text) {
  const file = /^see licen[cs]e in (.+)$/i.exec(text)?.[1];
  if (file !== undefined) return { expression: { kind: 'file', file }, isOld: false };
  const alias = aliases.get(text.toLowerCase());
  if (alias !== undefined) return { expression: { kind: 'license', id: alias, exception: null }, isOld: true };
  const expression = parseExpression(text);
  return { expression, isOld: expression === null };
}

/**
 * SPDX license expressions: `MIT OR (Apache-2.0 AND BSD-3-Clause)`, `GPL-2.0-only WITH Classpath-exception-2.0`.
 * @param {string} text
 * @returns {Expression | null}
 */
export function parseExpression(text) {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? [];
  let at = 0;

  /**
   * @param {'or' | 'and'} kind
   * @param {() => Expression | null} part
   * @returns {Expression | null}
   */
  const chain = (kind, part) => {
    /** @type {Expression[]} */
    const of = [];
    do {
      const next = part();
      if (next === null) return null;
      of.push(next);
    } while (take(kind.toUpperCase()));
    return of.length === 1 ? /** @type {Expression} */ (of[0]) : { kind, of };
  };
  /** @param {string} word */
  const take = word => {
    if (tokens[at]?.toUpperCase() !== word) return false;
    at++;
    return true;
  };
  const either = () => chain('or', all);
  const all = () => chain('and', one);
  /** @returns {Expression | null} */
  const one = () => {
    if (take('(')) {
      const inner = either();
      return take(')') ? inner : null;
    }
    const id = tokens[at++];
    if (id === undefined || !/^[A-Za-z0-9][A-Za-z0-9.:+-]*$/.test(id) || /^(and|or|with)$/i.test(id)) return null;
    const exception = take('WITH') ? (tokens[at++] ?? null) : null;
    return { kind: 'license', id, exception };
  };

  const expression = either();
  return at === tokens.length ? expression : null;
}
