// Derives the age of a package from the contents of its files. File times are useless: npm packs every file with the date 1985-10-26.

/** @typedef {{ kind: 'changelog' | 'copyright', file: string, newest: string, oldest: string }} Evidence */
/**
 * Each time is a year (`2019`) or a day (`2024-05-01`), as precise as the evidence.
 * @typedef {{ newest: string, oldest: string, evidence: Evidence[] }} Age
 */
/** @typedef {{ file: string, text: string }} Text */

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const isoDay = /\b((?:19|20)\d\d)[-/](\d\d?)[-/](\d\d?)\b/;
const monthFirst = /\b([a-z]{3})[a-z]*\.? (\d\d?)(?:st|nd|rd|th)?,? ((?:19|20)\d\d)\b/i;
const dayFirst = /\b(\d\d?)(?:st|nd|rd|th)?\.? ([a-z]{3})[a-z]*\.?,? ((?:19|20)\d\d)\b/i;
const version = /\bv?\d+\.\d+/;

/**
 * The age from the days of releases in the change log and the years in copyright notices; null if there are none.
 * @param {readonly Text[]} licenses
 * @param {Text | null} changelog
 * @param {Date} now
 * @returns {Age | null}
 */
export function findAge(licenses, changelog, now) {
  const today = now.toISOString().slice(0, 10);
  const evidence = [
    ...(changelog === null ? [] : span('changelog', changelog.file, releaseDays(changelog.text), today)),
    ...licenses.flatMap(({ file, text }) => span('copyright', file, copyrightYears(text), today)),
  ];
  if (evidence.length === 0) return null;
  // Times in this form sort as text.
  const newest = evidence.map(found => found.newest).sort();
  const oldest = evidence.map(found => found.oldest).sort();
  return { newest: /** @type {string} */ (newest.at(-1)), oldest: /** @type {string} */ (oldest[0]), evidence };
}

/**
 * @param {Evidence['kind']} kind
 * @param {string} file
 * @param {readonly string[]} dates
 * @param {string} today
 * @returns {Evidence[]}
 */
function span(kind, file, dates, today) {
  const possible = dates.filter(date => date >= '1970' && date <= today).sort();
  const [oldest] = possible;
  const newest = possible.at(-1);
  return oldest === undefined || newest === undefined ? [] : [{ kind, file, newest, oldest }];
}

/**
 * Days in lines that look like the heading of a release.
 * @param {string} text
 */
function releaseDays(text) {
  return text.split('\n').flatMap(line => {
    const isHeading = line.length < 300 && (/^\s*(#|=|<a |\*\*)/.test(line) || version.test(line.slice(0, 40)));
    const day = isHeading && (version.test(line) || /^\s*#/.test(line)) ? readDay(line) : null;
    return day === null ? [] : [day];
  });
}

/** @param {string} line */
function readDay(line) {
  const iso = isoDay.exec(line);
  if (iso !== null) return makeDay(iso[1], Number(iso[2]), iso[3]);
  const first = monthFirst.exec(line);
  if (first !== null) return makeDay(first[3], monthNumber(first[1]), first[2]);
  const last = dayFirst.exec(line);
  return last === null ? null : makeDay(last[3], monthNumber(last[2]), last[1]);
}

/** @param {string | undefined} name */
function monthNumber(name = '') {
  return months.indexOf(name.toLowerCase()) + 1;
}

/**
 * @param {string | undefined} year
 * @param {number} month
 * @param {string | undefined} day
 */
function makeDay(year, month, day) {
  const isDay = month >= 1 && month <= 12 && Number(day) >= 1 && Number(day) <= 31;
  return isDay ? `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}` : null;
}

/**
 * `Copyright (c) 2010-2024`, `© 2011, 2013`, `2015-21`; notices about the license texts themselves are ignored.
 * @param {string} text
 */
function copyrightYears(text) {
  return text.split('\n').flatMap(line => {
    if (!/copyright|©|\(c\)/i.test(line) || /free software foundation|sam hocevar/i.test(line)) return [];
    const years = [...line.matchAll(/(?<![\d.])((?:19|20)\d\d)(?:\s*[-–]\s*(\d\d)(?!\d))?(?!\d)/g)];
    return years.flatMap(([, year = '', short]) => (short === undefined ? [year] : [year, year.slice(0, 2) + short]));
  });
}
