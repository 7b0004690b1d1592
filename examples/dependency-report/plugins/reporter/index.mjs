// Joins the inspections of all packages into one report.
import { summarize } from './summary.mjs';

/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Request} Request */
/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Response} Response */
/** @typedef {import('../inspector/index.mjs').Inspection} Inspection */

/**
 * Packages are named `name@version`; paths are relative to `root`.
 * @typedef {object} Report
 * @property {string} summary a few lines for people
 * @property {string | null} root
 * @property {{ packages: number, names: number, failed: number, files: number, bytes: number }} totals
 * @property {{ license: string, count: number, packages: string[] }[]} licenses the most frequent first, including "none"
 * @property {{ package: string, path: string, verdict: string, claim: string | null, texts: string[] }[]} conflicts
 *   texts that contradict the claim or go beyond it
 * @property {{ package: string, path: string, verdict: string, claim: string | null }[]} missing
 *   claim or text is missing or unknown
 * @property {{ package: string, license: string, strength: string }[]} copyleft the strongest first
 * @property {{ package: string, path: string, bytes: number, files: number }[]} largest
 * @property {{ name: string, versions: { version: string, paths: string[] }[] }[]} duplicates
 * @property {{ package: string, scripts: Record<string, string> }[]} install_scripts
 * @property {{ package: string, files: number, bytes: number }[]} binaries
 * @property {{ package: string, newest: string, evidence: string }[]} oldest
 * @property {{ package: string, declared: string[], vendored: string[], licenses: string[] }[]} bundled
 * @property {{ package: string, problems: string[] }[]} problems
 */

const listLengthDefault = 10;
const unknown = 'none';
const strengths = ['network', 'strong', 'weak'];

/**
 * @param {Request} request
 * @returns {Response}
 */
export function handle(request) {
  const { payload } = /** @type {{ payload: { results: unknown[], failed?: number } }} */ (request.payload);
  const baggage = /** @type {{ root?: string } | undefined} */ (request.context['report']);
  const listLength = Number(request.config['list_length'] ?? listLengthDefault);
  // An entry of a join can be an error instead of a result.
  const inspections = payload.results.filter(isInspection);
  const failed = payload.failed ?? payload.results.length - inspections.length;
  return { result: makeReport(inspections, failed, baggage?.root ?? null, listLength) };
}

/**
 * @param {readonly Inspection[]} inspections
 * @param {number} failed
 * @param {string | null} root
 * @param {number} [listLength]
 * @returns {Report}
 */
export function makeReport(inspections, failed, root, listLength = listLengthDefault) {
  const sorted = [...inspections].sort((a, b) => byText(label(a), label(b)) || byText(a.path, b.path));
  const report = {
    root,
    totals: {
      packages: sorted.length,
      names: new Set(sorted.map(({ name }) => name)).size,
      failed,
      files: sum(sorted, ({ size }) => size.files),
      bytes: sum(sorted, ({ size }) => size.bytes),
    },
    licenses: byLicense(sorted),
    conflicts: withVerdict(sorted, ['conflicts', 'more']).map(inspection => ({
      ...licenseLine(inspection),
      texts: [...new Set(inspection.license.texts.flatMap(({ licenses }) => licenses))],
    })),
    missing: withVerdict(sorted, ['unclaimed', 'no_text', 'unrecognized', 'none']).map(licenseLine),
    copyleft: copyleftOf(sorted),
    largest: [...sorted]
      .sort((a, b) => b.size.bytes - a.size.bytes)
      .slice(0, listLength)
      .map(inspection => ({ package: label(inspection), path: inspection.path, ...pick(inspection.size) })),
    duplicates: duplicatesOf(sorted),
    install_scripts: sorted
      .filter(({ install }) => Object.keys(install.scripts).length > 0)
      .map(inspection => ({ package: label(inspection), scripts: inspection.install.scripts })),
    binaries: sorted
      .filter(({ install }) => install.binaries.files > 0)
      .map(inspection => ({ package: label(inspection), ...inspection.install.binaries })),
    oldest: oldestOf(sorted, listLength),
    bundled: sorted
      .filter(({ bundled }) => bundled.declared.length + bundled.vendored.length + bundled.licenses.length > 0)
      .map(inspection => ({ package: label(inspection), ...inspection.bundled })),
    problems: sorted
      .filter(({ problems }) => problems.length > 0)
      .map(inspection => ({ package: label(inspection), problems: inspection.problems })),
  };
  return { summary: summarize(report), ...report };
}

/** @param {readonly Inspection[]} inspections */
function byLicense(inspections) {
  const groups = groupBy(inspections, ({ license }) => license.effective ?? unknown);
  return [...groups]
    .map(([license, of]) => ({ license, count: of.length, packages: of.map(label) }))
    .sort((a, b) => b.count - a.count || byText(a.license, b.license));
}

/**
 * @param {readonly Inspection[]} inspections
 * @param {readonly string[]} verdicts
 */
function withVerdict(inspections, verdicts) {
  return inspections.filter(({ license }) => verdicts.includes(license.verdict));
}

/** @param {Inspection} inspection */
function licenseLine(inspection) {
  const { verdict, claim } = inspection.license;
  return { package: label(inspection), path: inspection.path, verdict, claim };
}

/** @param {readonly Inspection[]} inspections */
function copyleftOf(inspections) {
  return inspections
    .flatMap(inspection => {
      const { copyleft: strength, effective, beyond } = inspection.license;
      if (strength === null) return [];
      return [{ package: label(inspection), license: [effective ?? unknown, ...beyond].join(' AND '), strength }];
    })
    .sort((a, b) => strengths.indexOf(a.strength) - strengths.indexOf(b.strength));
}

/**
 * Names that are installed in several versions. The same version in two places is not a duplicate.
 * @param {readonly Inspection[]} inspections
 */
function duplicatesOf(inspections) {
  return [...groupBy(inspections, ({ name }) => name)].flatMap(([name, of]) => {
    const versions = [...groupBy(of, ({ version }) => version ?? 'unknown')]
      .map(([version, same]) => ({ version, paths: same.map(({ path }) => path) }))
      .sort((a, b) => a.version.localeCompare(b.version, 'en', { numeric: true }));
    return versions.length > 1 ? [{ name, versions }] : [];
  });
}

/**
 * The packages whose newest evidence is the oldest. Packages without evidence are left out.
 * @param {readonly Inspection[]} inspections
 * @param {number} listLength
 */
function oldestOf(inspections, listLength) {
  return inspections
    .flatMap(inspection => {
      const { age } = inspection;
      const decisive = age?.evidence.find(({ newest }) => newest === age.newest);
      if (!age || decisive === undefined) return [];
      return [{ package: label(inspection), newest: age.newest, evidence: `${decisive.kind} in ${decisive.file}` }];
    })
    .sort((a, b) => byText(a.newest, b.newest))
    .slice(0, listLength);
}

/**
 * @param {unknown} entry
 * @returns {entry is Inspection}
 */
function isInspection(entry) {
  return typeof entry === 'object' && entry !== null && 'path' in entry && 'license' in entry && 'size' in entry;
}

/** @param {Inspection} inspection */
function label({ name, version }) {
  return version === null ? name : `${name}@${version}`;
}

/** @param {{ files: number, bytes: number }} size */
function pick({ files, bytes }) {
  return { bytes, files };
}

/**
 * @param {string} a
 * @param {string} b
 */
function byText(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => number} value
 */
function sum(items, value) {
  return items.reduce((total, item) => total + value(item), 0);
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(item: T) => string} key
 * @returns {Map<string, T[]>}
 */
function groupBy(items, key) {
  /** @type {Map<string, T[]>} */
  const groups = new Map();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}
