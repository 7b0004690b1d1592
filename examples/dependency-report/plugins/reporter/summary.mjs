// The report in a few lines for people.
/** @typedef {Omit<import('./index.mjs').Report, 'summary'>} Facts */

const linesMax = 5;

/**
 * @param {Facts} report
 * @returns {string} lines without a newline at the end
 */
export function summarize(report) {
  const { totals } = report;
  const where = report.root === null ? '' : ` under ${report.root}`;
  const licenses = report.licenses.map(({ license, count }) => `${license} ${count}`);
  return [
    `${totals.packages} packages (${totals.names} names)${where}: ${totals.files} files, ${formatBytes(totals.bytes)}`,
    ...(totals.failed > 0 ? [`Not inspected: ${totals.failed}`] : []),
    `Licenses: ${licenses.join(', ') || 'none'}`,
    ...section(
      'License conflicts',
      report.conflicts.map(
        ({ package: name, claim, texts }) => `${name} claims ${claim}, its text is ${texts.join(', ')}`,
      ),
    ),
    ...section(
      'License missing or unknown',
      report.missing.map(({ package: name, verdict, claim }) => `${name}: ${explain(verdict, claim)}`),
    ),
    ...section(
      'Copyleft',
      report.copyleft.map(({ package: name, license, strength }) => `${name}: ${license} (${strength})`),
    ),
    ...section(
      'Largest',
      report.largest.map(({ package: name, bytes }) => `${name}: ${formatBytes(bytes)}`),
      report.largest.length,
    ),
    ...section(
      'In several versions',
      report.duplicates.map(({ name, versions }) => `${name}: ${versions.map(({ version }) => version).join(', ')}`),
    ),
    ...section(
      'Install scripts',
      report.install_scripts.map(({ package: name, scripts }) => `${name}: ${Object.values(scripts).join('; ')}`),
    ),
    ...section(
      'Oldest',
      report.oldest.map(({ package: name, newest, evidence }) => `${name}: ${newest} (${evidence})`),
      report.oldest.length,
    ),
  ].join('\n');
}

/**
 * @param {string} title
 * @param {readonly string[]} lines
 * @param {number} [count] given for lists of limited length, whose title shows no number
 */
function section(title, lines, count) {
  const shown = lines.slice(0, linesMax).map(line => `  ${line}`);
  const rest = lines.length - shown.length;
  const heading = count === undefined ? `${title}: ${lines.length}` : `${title}:${count === 0 ? ' none' : ''}`;
  return [heading, ...shown, ...(rest > 0 && count === undefined ? [`  and ${rest} more`] : [])];
}

/**
 * @param {string} verdict
 * @param {string | null} claim
 */
function explain(verdict, claim) {
  switch (verdict) {
    case 'unclaimed':
      return 'has a license text but claims no license';
    case 'no_text':
      return `claims ${claim} but has no license text`;
    case 'unrecognized':
      return claim === null ? 'has an unknown license text' : `claims ${claim}; claim or text is unknown`;
    default:
      return 'claims no license and has no license text';
  }
}

/** @param {number} bytes */
function formatBytes(bytes) {
  const units = ['B', 'KB', 'MB', 'GB'];
  const step = bytes < 1 ? 0 : Math.min(Math.floor(Math.log2(bytes) / 10), units.length - 1);
  return `${(bytes / 1024 ** step).toFixed(step === 0 ? 0 : 1)} ${units[step]}`;
}
