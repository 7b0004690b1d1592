// Inspects one package. It never fails because of the package: a file that cannot be read becomes a line in `problems`.
import fs from 'node:fs';
import path from 'node:path';
import { findAge } from './age.mjs';
import { readClaim } from './claim.mjs';
import { measure } from './footprint.mjs';
import { isLicenseFile, isNoticesFile, recognize, splitBundled } from './license-text.mjs';
import { compare } from './verdict.mjs';

/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Request} Request */
/** @typedef {import('../../../../runtime/host/api/plugin-api.ts').Response} Response */
/** @typedef {{ [key: string]: unknown }} PackageJson the content of package.json, unchecked */

/**
 * The facts about a package. `path` is relative to the root.
 * @typedef {object} Inspection
 * @property {string} path
 * @property {string} name
 * @property {string | null} version
 * @property {{ files: number, bytes: number }} size without the packages in its own node_modules
 * @property {License} license
 * @property {{ scripts: Record<string, string>, binaries: { files: number, bytes: number } }} install
 * @property {import('./age.mjs').Age | null} age null: there was no evidence
 * @property {{ declared: string[], vendored: string[], licenses: string[] }} bundled
 *   names in package.json; packages in inner node_modules folders; licenses of bundled code
 * @property {string[]} problems
 */

/**
 * `claim` comes from package.json, `texts` from the license files.
 * @typedef {import('./verdict.mjs').Comparison & { claim: string | null, texts: LicenseText[] }} License
 */
/** @typedef {{ file: string, licenses: string[] }} LicenseText */

// License files and change logs are read up to these limits; the relevant part is at the top.
const textBytesMax = 512 * 1024;
const changelogBytesMax = 64 * 1024;
const changelogFile = /^(changelog|changes|history|releases?)(\.(md|markdown|txt|rst))?$/i;
const readmeFile = /^readme(\.(md|markdown|txt))?$/i;
const installScripts = ['preinstall', 'install', 'postinstall'];

/**
 * @param {Request} request
 * @returns {Response}
 */
export function handle(request) {
  const { payload } = /** @type {{ payload: { root: string, item: { path: string } } }} */ (request.payload);
  return { result: inspect(payload.root, payload.item, new Date()) };
}

/**
 * @param {string} root an absolute path
 * @param {{ path: string, name?: string, version?: string | null }} item
 * @param {Date} now later dates are ignored
 * @returns {Inspection}
 */
export function inspect(root, item, now) {
  /** @type {string[]} */
  const problems = [];
  const directory = path.resolve(root, item.path);
  const json = readPackageJson(directory, problems);
  const { size, binaries, vendored, names } = measure(directory, problems);
  const texts = readTexts(directory, names, problems);
  const claim = readClaim(json);
  problems.push(...claim.problems);
  const own = texts.own.map(({ file, text }) => ({ file, licenses: recognize(text) }));
  return {
    path: item.path,
    name: textOr(json['name'], item.name ?? item.path),
    version: textOr(json['version'], item.version ?? null),
    size,
    license: { claim: claim.text, texts: own, ...compare(claim, own) },
    install: { scripts: readScripts(json, names), binaries },
    age: findAge(texts.own, readChangelog(directory, names, problems), now),
    bundled: {
      declared: readBundled(json),
      vendored,
      licenses: recognize(texts.bundled),
    },
    problems,
  };
}

/**
 * @param {string} directory
 * @param {string[]} problems
 * @returns {PackageJson}
 */
function readPackageJson(directory, problems) {
  const text = readText(path.join(directory, 'package.json'), Number.POSITIVE_INFINITY, problems);
  if (text === null) return {};
  try {
    const json = JSON.parse(text.replace(/^\uFEFF/, ''));
    if (isMap(json)) return json;
    problems.push('package.json is not an object');
  } catch {
    problems.push('package.json is not valid JSON');
  }
  return {};
}

/**
 * The license texts of the package itself, and the text about the licenses of code that it bundles.
 * @param {string} directory
 * @param {string[]} names
 * @param {string[]} problems
 */
function readTexts(directory, names, problems) {
  /** @type {{ file: string, text: string }[]} */
  const own = [];
  let bundled = '';
  for (const file of names) {
    const isNotices = isNoticesFile(file);
    if (!isNotices && !isLicenseFile(file)) continue;
    const text = readText(path.join(directory, file), textBytesMax, problems);
    if (text === null) continue;
    const [mine, others] = isNotices ? ['', text] : splitBundled(text);
    if (!isNotices) own.push({ file, text: mine });
    bundled += `${others}\n`;
  }
  if (own.length === 0) own.push(...readmeTexts(directory, names, problems));
  return { own, bundled };
}

/**
 * Small packages have their license in the README; it counts if the README contains the license text.
 * @param {string} directory
 * @param {string[]} names
 * @param {string[]} problems
 */
function readmeTexts(directory, names, problems) {
  const file = names.find(name => readmeFile.test(name));
  const text = file === undefined ? null : readText(path.join(directory, file), textBytesMax, problems);
  if (file === undefined || text === null || recognize(text).length === 0) return [];
  // Only from the heading on: the rest of a README has unrelated years and names.
  const heading = text.search(/^#* *(the )?(mit )?licen[cs]e/im);
  return [{ file, text: heading < 0 ? text : text.slice(heading) }];
}

/**
 * @param {string} directory
 * @param {string[]} names
 * @param {string[]} problems
 */
function readChangelog(directory, names, problems) {
  const file = names.find(name => changelogFile.test(name));
  if (file === undefined) return null;
  const text = readText(path.join(directory, file), changelogBytesMax, problems);
  return text === null ? null : { file, text };
}

/**
 * The scripts that run when the package is installed. If there is a binding.gyp, npm runs node-gyp by default.
 * @param {PackageJson} json
 * @param {readonly string[]} names
 */
function readScripts(json, names) {
  const scripts = isMap(json['scripts']) ? json['scripts'] : {};
  /** @type {Record<string, string>} */
  const found = {};
  for (const name of installScripts) {
    if (typeof scripts[name] === 'string') found[name] = scripts[name];
  }
  const isImplicit = names.includes('binding.gyp') && !('install' in found) && !('preinstall' in found);
  if (isImplicit && json['gypfile'] !== false) found['install'] = 'node-gyp rebuild';
  return found;
}

/**
 * @param {PackageJson} json
 * @returns {string[]}
 */
function readBundled(json) {
  const declared = json['bundleDependencies'] ?? json['bundledDependencies'];
  if (declared === true) return isMap(json['dependencies']) ? Object.keys(json['dependencies']).sort() : [];
  return Array.isArray(declared) ? declared.filter(name => typeof name === 'string').sort() : [];
}

/**
 * The beginning of a text file, or null and a problem.
 * @param {string} file
 * @param {number} bytesMax
 * @param {string[]} problems
 */
function readText(file, bytesMax, problems) {
  try {
    const bytes = fs.readFileSync(file);
    return bytes.toString('utf8', 0, Math.min(bytes.length, bytesMax));
  } catch (error) {
    problems.push(`${path.basename(file)} cannot be read (${/** @type {NodeJS.ErrnoException} */ (error).code})`);
    return null;
  }
}

/**
 * @template T
 * @param {unknown} value
 * @param {T} fallback
 * @returns {string | T}
 */
function textOr(value, fallback) {
  return typeof value === 'string' && value !== '' ? value : fallback;
}

/**
 * @param {unknown} value
 * @returns {value is { [key: string]: unknown }}
 */
function isMap(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
