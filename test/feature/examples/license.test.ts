// Licenses in the dependency report: known by their texts, read from claims, and compared.
import { describe, expect, it } from 'vitest';
import { importPlugin, makeTree, type Tree, texts } from './fixture.ts';

type License = {
  claim: string | null;
  verdict: string;
  effective: string | null;
  beyond: string[];
  copyleft: string | null;
};
type InspectorModule = {
  inspect(root: string, item: { path: string }, now: Date): { license: License; problems: string[] };
};
type TextModule = { recognize(text: string): string[]; isLicenseFile(name: string): boolean };
type ClaimModule = { parseExpression(text: string): unknown };

const { inspect } = await importPlugin<InspectorModule>('dependency-report/inspector/index.mjs');
const { recognize, isLicenseFile } = await importPlugin<TextModule>('dependency-report/inspector/license-text.mjs');
const { parseExpression } = await importPlugin<ClaimModule>('dependency-report/inspector/claim.mjs');

const mit = texts.MIT;
const bsd2 = texts['BSD-2-Clause'];

describe('recognize', () => {
  it.each([
    ['MIT', mit],
    ['MIT', mit.replaceAll('\n', '\r\n * ').replaceAll('"', "'")],
    ['MIT-0', mit.replace(/The above copyright notice.*/, '')],
    ['JSON', `${mit} The Software shall be used for Good, not Evil.`],
    ['ISC', texts.ISC],
    ['0BSD', texts.ISC.replace(/, provided.*/s, '.')],
    ['BSD-2-Clause', bsd2],
    ['BSD-3-Clause', `${bsd2} Neither the name of X may be used to endorse or promote products derived from this.`],
    ['BSD-4-Clause', `${bsd2} All advertising materials mentioning features ... endorse or promote products`],
    ['Apache-2.0', texts['Apache-2.0']],
    [
      'Apache-2.0',
      'Licensed under the Apache License, Version 2.0 (the "License");\n   you may not use this file except',
    ],
    ['MPL-2.0', texts['MPL-2.0']],
    ['MPL-2.0', 'subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not'],
    ['GPL-2.0', 'GNU GENERAL PUBLIC LICENSE\n Version 2, June 1991 ... the GNU Lesser General Public License instead'],
    ['GPL-3.0', `${texts['GPL-3.0']} 13. Use with the GNU Affero General Public License.`],
    ['LGPL-2.1', 'GNU LESSER GENERAL PUBLIC LICENSE\n  Version 2.1, February 1999'],
    [
      'LGPL-3.0',
      'GNU LESSER GENERAL PUBLIC LICENSE\n  Version 3, 29 June 2007 ... version 3 of the GNU General Public License',
    ],
    ['AGPL-3.0', 'GNU AFFERO GENERAL PUBLIC LICENSE\n  Version 3, 19 November 2007'],
    ['EPL-2.0', 'Eclipse Public License - v 2.0'],
    ['Unlicense', 'This is free and unencumbered software released into the public domain.'],
    ['CC0-1.0', 'Creative Commons Legal Code\n\nCC0 1.0 Universal'],
    ['CC-BY-4.0', 'Creative Commons Attribution 4.0 International Public License'],
    ['BlueOak-1.0.0', '# Blue Oak Model License\n\nVersion 1.0.0'],
    [
      'Zlib',
      "provided 'as-is', without any express or implied warranty. 2. Altered source versions must be plainly marked",
    ],
    ['WTFPL', 'DO WHAT THE FUCK YOU WANT TO PUBLIC LICENSE'],
  ])('knows %s', (license, text) => {
    expect(recognize(text)).toEqual([license]);
  });

  it('lists all the licenses of a text as they come', () => {
    expect(recognize(`${texts['Apache-2.0']}\n---\n${mit}`)).toEqual(['Apache-2.0', 'MIT']);
  });

  it('falls back on identifiers, and knows nothing else', () => {
    expect(recognize('// SPDX-License-Identifier: bsd-3-clause')).toEqual(['BSD-3-Clause']);
    expect(recognize('MIT, see https://opensource.org/licenses/MIT.')).toEqual(['MIT']);
    expect(recognize('All rights reserved.')).toEqual([]);
    expect(recognize('')).toEqual([]);
  });

  it('knows license files by their names', () => {
    const are = ['LICENSE', 'licence.md', 'LICENSE-MIT', 'COPYING', 'COPYING.LESSER', 'UNLICENSE', 'MIT-LICENSE.txt'];
    const areNot = ['license.js', 'licenses.json', 'licensed.md', 'index.d.ts', 'copying-machine.ts', 'README.md'];
    expect([...are, ...areNot].filter(isLicenseFile)).toEqual(are);
  });
});

describe('parseExpression', () => {
  const id = (name: string, exception: string | null = null) => ({ kind: 'license', id: name, exception });

  it('binds AND closer than OR, and both less than brackets', () => {
    const [a, b, c] = [id('A'), id('B'), id('C')];
    expect(parseExpression('A OR B AND C')).toEqual({ kind: 'or', of: [a, { kind: 'and', of: [b, c] }] });
    expect(parseExpression('(A OR B) and C')).toEqual({ kind: 'and', of: [{ kind: 'or', of: [a, b] }, c] });
    expect(parseExpression('GPL-2.0+ WITH X-exception')).toEqual(id('GPL-2.0+', 'X-exception'));
  });

  it.each(['', 'A B', 'A OR', 'AND', '(A', 'A)', 'MIT,ISC', 'OR A', '()'])('refuses %j', text => {
    expect(parseExpression(text)).toBeNull();
  });
});

describe('the claim against the texts', () => {
  const license = (claim: Tree, files: Tree) => {
    const inside = Object.entries(files).map(([name, content]) => [`p/${name}`, content] as const);
    const root = makeTree({ 'p/package.json': claim as never, ...Object.fromEntries(inside) });
    return inspect(root, { path: 'p' }, new Date());
  };
  const gpl = texts['GPL-3.0'];
  const apache = texts['Apache-2.0'];

  it.each([
    // claim, files, verdict, effective, copyleft
    ['MIT', { LICENSE: mit }, 'agrees', 'MIT', null],
    ['MIT OR Apache-2.0', { 'LICENSE-MIT': mit, 'LICENSE-APACHE': apache }, 'agrees', 'MIT OR Apache-2.0', null],
    ['(MIT OR GPL-3.0-only)', { LICENSE: mit }, 'agrees', 'MIT OR GPL-3.0-only', null],
    ['MIT AND (ISC OR GPL-3.0)', { A_LICENSE: mit, B_LICENSE: gpl }, 'agrees', 'MIT AND (ISC OR GPL-3.0)', null],
    ['GPL-3.0-or-later', { COPYING: gpl }, 'agrees', 'GPL-3.0-or-later', 'strong'],
    [
      'GPL-3.0 WITH Classpath-exception-2.0',
      { COPYING: gpl },
      'agrees',
      'GPL-3.0 WITH Classpath-exception-2.0',
      'weak',
    ],
    ['MIT', { LICENSE: mit, COPYING: gpl }, 'more', 'MIT', 'strong'],
    ['ISC', { LICENSE: apache }, 'conflicts', 'ISC', null],
    ['MIT', { LICENSE: gpl }, 'conflicts', 'MIT', 'strong'],
    ['MIT AND ISC', { LICENSE: mit }, 'conflicts', 'MIT AND ISC', null],
    ['UNLICENSED', { LICENSE: mit }, 'conflicts', 'UNLICENSED', null],
    ['UNLICENSED', {}, 'agrees', 'UNLICENSED', null],
    ['MPL-2.0', {}, 'no_text', 'MPL-2.0', 'weak'],
    ['MIT', { LICENSE: 'Mine.' }, 'unrecognized', 'MIT', null],
    ['SEE LICENSE IN EULA.txt', { LICENSE: mit }, 'agrees', 'MIT', null],
    ['SEE LICENSE IN EULA.txt', {}, 'no_text', null, null],
    ['MIT', { 'README.md': `# p\n\n## License\n\n${mit}` }, 'agrees', 'MIT', null],
    ['MIT', { 'README.md': '# p\n\n## License\n\nMIT' }, 'no_text', 'MIT', null],
  ])('%s with %j: %s', (claim, files, verdict, effective, copyleft) => {
    expect(license({ license: claim }, files)).toMatchObject({
      license: { claim, verdict, effective, copyleft },
      problems: [],
    });
  });

  it('takes the text for the license where nothing is claimed', () => {
    const expected = { claim: null, verdict: 'unclaimed', effective: 'MIT', copyleft: null };
    expect(license({}, { LICENSE: mit }).license).toMatchObject(expected);
    expect(license({ license: '' }, { LICENSE: mit }).license).toMatchObject(expected);
    expect(license({}, { LICENSE: gpl }).license).toMatchObject({ verdict: 'unclaimed', copyleft: 'strong' });
    expect(license({}, { LICENSE: 'Mine.' }).license).toMatchObject({ verdict: 'unrecognized', effective: null });
    expect(license({}, {}).license).toMatchObject({ verdict: 'none', effective: null });
  });

  it('reads claims from before SPDX, and says that they are old', () => {
    const oldForm = 'the license claim has a form that npm has deprecated';
    expect(license({ licenses: [{ type: 'MIT' }, { type: 'GPL-3.0' }] } as never, { LICENSE: mit })).toMatchObject({
      license: { claim: 'MIT OR GPL-3.0', verdict: 'agrees', copyleft: null },
      problems: [oldForm],
    });
    expect(license({ license: { type: 'Apache 2.0' } } as never, { LICENSE: apache })).toMatchObject({
      license: { claim: 'Apache 2.0', verdict: 'agrees', effective: 'Apache-2.0' },
      problems: [oldForm, '"Apache 2.0" is not an SPDX expression'],
    });
    expect(license({ license: 'BSD' }, { LICENSE: bsd2 })).toMatchObject({
      license: { verdict: 'agrees', beyond: [] },
      problems: ['"BSD" is not an SPDX expression'],
    });
    expect(license({ license: 'do as you like' }, { LICENSE: mit })).toMatchObject({
      license: { claim: 'do as you like', verdict: 'unrecognized', effective: 'MIT' },
      problems: ['"do as you like" is not an SPDX expression'],
    });
  });
});
