// Recognizes licenses by characteristic phrases, whatever the layout, quotes and comment signs are.

/**
 * The normalized text must match `text`, and must not match `without`.
 * @typedef {{ license: string, text: RegExp, without?: RegExp }} Fingerprint
 */

const mitGrant = /permission is hereby granted free of charge to any person obtaining a copy of this software/;
const iscGrant =
  /permission to use copy modify (and )?(or )?distribute this software for any purpose with or without fee/;
const bsdGrant = /redistribution and use in source and binary forms( with or without modification)?/;
const bsdAdvertising = /advertising materials mentioning features/;
const bsdEndorsement = /endorse or promote products/;

// GNU licenses mention each other, but only the license itself contains its title with the date.
/** @type {readonly Fingerprint[]} */
const fingerprints = [
  { license: 'MIT', text: new RegExp(`${mitGrant.source}.*permission notice`), without: /used for good not evil/ },
  { license: 'MIT-0', text: mitGrant, without: /permission notice/ },
  { license: 'JSON', text: new RegExp(`${mitGrant.source}.*used for good not evil`) },
  { license: 'ISC', text: new RegExp(`${iscGrant.source}.*permission notice appear`) },
  { license: '0BSD', text: iscGrant, without: /permission notice appear/ },
  { license: 'BSD-4-Clause', text: new RegExp(`${bsdGrant.source}.*${bsdAdvertising.source}`) },
  {
    license: 'BSD-3-Clause',
    text: new RegExp(`${bsdGrant.source}.*${bsdEndorsement.source}`),
    without: bsdAdvertising,
  },
  { license: 'BSD-2-Clause', text: bsdGrant, without: bsdEndorsement },
  {
    license: 'Apache-2.0',
    text: /apache license version 2\.0( january 2004|( the)? license you may not use this file)/,
  },
  { license: 'MPL-1.1', text: /mozilla public license version 1\.1/ },
  { license: 'MPL-2.0', text: /mozilla public license (version |v. ?)2\.0/ },
  { license: 'AGPL-3.0', text: /gnu affero general public license version 3 19 november 2007/ },
  { license: 'GPL-1.0', text: /gnu general public license version 1 february 1989/ },
  { license: 'GPL-2.0', text: /gnu general public license version 2 june 1991/ },
  { license: 'GPL-3.0', text: /gnu general public license version 3 29 june 2007/ },
  { license: 'LGPL-2.0', text: /gnu library general public license version 2 june 1991/ },
  { license: 'LGPL-2.1', text: /gnu lesser general public license version 2\.1 february 1999/ },
  { license: 'LGPL-3.0', text: /gnu lesser general public license version 3 29 june 2007/ },
  { license: 'EPL-1.0', text: /eclipse public license v(ersion)? 1\.0/ },
  { license: 'EPL-2.0', text: /eclipse public license v(ersion)? 2\.0/ },
  { license: 'CDDL-1.0', text: /common development and distribution license (cddl )?version 1\.0/ },
  { license: 'EUPL-1.2', text: /european union public licence v\. 1\.2/ },
  { license: 'Unlicense', text: /this is free and unencumbered software released into the public domain/ },
  { license: 'CC0-1.0', text: /cc0 1\.0 universal/ },
  { license: 'CC-BY-3.0', text: /attribution 3\.0 unported/ },
  { license: 'CC-BY-4.0', text: /attribution 4\.0 international/ },
  { license: 'CC-BY-SA-4.0', text: /attribution sharealike 4\.0 international/ },
  { license: 'BlueOak-1.0.0', text: /blue oak model license version 1\.0\.0/ },
  {
    license: 'Zlib',
    text: /as is without any express or implied warranty.*altered source versions must be plainly marked/,
  },
  { license: 'WTFPL', text: /do what the fuck you want to public license/ },
  { license: 'BSL-1.0', text: /boost software license version 1\.0/ },
  { license: 'Artistic-2.0', text: /the artistic license 2\.0/ },
  { license: 'Python-2.0', text: /python software foundation license version 2/ },
  { license: 'OFL-1.1', text: /sil open font license version 1\.1/ },
  { license: 'OLDAP-2.8', text: /the openldap public license version 2\.8/ },
  { license: 'Unicode-3.0', text: /unicode license v3/ },
  { license: 'BUSL-1.1', text: /business source license 1\.1/ },
  { license: 'SSPL-1.0', text: /server side public license version 1 october 16 2018/ },
];

const spdxTag = /spdx-license-identifier:\s*([a-z0-9.+-]+)/gi;
const spdxUrl = /(?:opensource\.org\/licenses?|spdx\.org\/licenses)\/([a-z0-9.+-]*[a-z0-9+])/gi;

const licenseFile = /^((un)?licen[cs]es?|copying)([-_.]|$)|[-_.]licen[cs]e(\.(md|markdown|txt))?$/i;
const noticesFile = /third[-_ ]?party|3rd[-_ ]?party/i;
// The line with which bundlers introduce the licenses of bundled code.
const bundledLine = /^[#=\s]*(licenses? of bundled|bundled \w|third[- ]party)/im;

/** @param {string} name */
export function isLicenseFile(name) {
  return licenseFile.test(name) && !/\.([cm]?[jt]sx?|json|map)$/i.test(name);
}

/** @param {string} name */
export function isNoticesFile(name) {
  return noticesFile.test(name) && /licen[cs]e|notice/i.test(name);
}

/**
 * The package's own license text, and the text about bundled code that follows it.
 * @param {string} text
 * @returns {[own: string, bundled: string]}
 */
export function splitBundled(text) {
  const at = text.search(bundledLine);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at)];
}

/**
 * SPDX identifiers of the licenses in a text, in the order in which the licenses begin. If the text contains no license, the identifiers that
 * it mentions. The identifiers of GNU licenses have neither `-only` nor `-or-later`, because the license text does not say which applies.
 * @param {string} text
 * @returns {string[]}
 */
export function recognize(text) {
  const normal = text
    .toLowerCase()
    .replace(/[^a-z0-9.]+/g, ' ')
    .replace(/\. /g, ' ');
  const found = fingerprints.flatMap(({ license, text: phrase, without }) => {
    const at = normal.search(phrase);
    return at < 0 || without?.test(normal) ? [] : [{ license, at }];
  });
  if (found.length > 0) return found.sort((a, b) => a.at - b.at).map(({ license }) => license);
  const named = [...text.matchAll(spdxTag), ...text.matchAll(spdxUrl)].map(([, id = '']) => properCase(id));
  return [...new Set(named)];
}

/** @param {string} id */
function properCase(id) {
  const lower = id.toLowerCase();
  return fingerprints.find(({ license }) => license.toLowerCase() === lower)?.license ?? id;
}
