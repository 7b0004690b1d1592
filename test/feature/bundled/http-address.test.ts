// The bundled `http` keeps to public addresses: classes of addresses, ways of writing them, and names that resolve to them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cyclesOf } from '../../support/deep.ts';
import { importBundled } from './fixture.ts';

type Found = { readonly address: string; readonly family: number };
type Resolve = (host: string, options: object, done: (error: Error | null, found: readonly Found[]) => void) => void;
type Lookup = (
  host: string,
  options: object,
  done: (error: Error | null, found: unknown, family?: number) => void,
) => void;

const { kindOfAddress } = await importBundled<{ kindOfAddress(address: string): string }>('http/address.js');
const { checkLiteral, checkedLookup, isNamed } = await importBundled<{
  checkLiteral(url: URL): void;
  checkedLookup(resolve: Resolve): Lookup;
  isNamed(url: URL, allowed: readonly string[]): boolean;
}>('http/guard.js');

const classes: { readonly [kind: string]: readonly string[] } = {
  public: [
    '1.1.1.1',
    '8.8.8.8',
    '11.0.0.0',
    '9.255.255.255',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
  ]
    .concat([
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '192.167.255.255',
      '192.169.0.0',
      '223.255.255.255',
    ])
    .concat([
      '2606:4700:4700::1111',
      '2a00::1',
      '2001:4860:4860::8888',
      '::ffff:8.8.8.8',
      '::ffff:808:808',
      '64:ff9b::8.8.8.8',
    ]),
  loopback: [
    '127.0.0.1',
    '127.255.255.254',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '::FFFF:7f00:1',
    '64:ff9b::7f00:1',
  ],
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
  private: [
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.0',
    '100.100.100.200',
    '172.16.0.0',
    '172.31.255.255',
    '192.168.0.1',
  ].concat(['fc00::1', 'fd00:ec2::254', 'fdff::', 'fec0::1', '::ffff:192.168.1.1', '64:ff9b::a00:1']),
  'link-local': [
    '169.254.169.254',
    '169.254.0.0',
    'fe80::1',
    'fe80::1%eth0',
    'febf::1',
    '::ffff:169.254.169.254',
    '::ffff:a9fe:a9fe',
  ],
  metadata: ['168.63.129.16'],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1'],
  reserved: [
    '192.0.0.192',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '240.0.0.1',
    '255.255.255.255',
    '192.88.99.1',
  ].concat([
    '2001:db8::1',
    '2001::1',
    '2002:7f00:1::',
    '3fff::1',
    '::7f00:1',
    '::127.0.0.1',
    '100::1',
    '4000::1',
    '64:ff9b:1::1',
  ]),
  invalid: [
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.-4',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
  ].concat(['12345::', 'g::', '::1.2.3', '::1.2.3.256', '1:2:3:4:5:6:7::8::']),
};

describe.each(Object.entries(classes))('%s', (kind, addresses) => {
  test.each(addresses)('%s', address => expect(kindOfAddress(address)).toBe(kind));
});

test('an IPv4 address is of the same kind however it is mapped into IPv6', () => {
  const part = fc.integer({ min: 0, max: 255 });
  const check = fc.property(part, part, part, part, (a, b, c, d) => {
    const address = `${a}.${b}.${c}.${d}`;
    const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
    for (const mapped of [`::ffff:${address}`, `::ffff:${hex}`, `0:0:0:0:0:FFFF:${hex}`, `64:ff9b::${hex}`])
      expect(kindOfAddress(mapped)).toBe(kindOfAddress(address));
  });
  fc.assert(check, { numRuns: cyclesOf({ deep: 300, quick: 100 }) });
});

test('no text makes it throw', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\d.:a-f%]{0,40}$/), text => void kindOfAddress(text)),
    { numRuns: cyclesOf({ deep: 500, quick: 100 }) },
  );
});

test.each([
  'http://127.0.0.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://127.1/',
  'http://0x7f.1/',
  'http://127.0.0.1./',
  'http://0/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[0:0:0:0:0:ffff:7f00:1]/',
  'http://[::]:80/',
  'http://169.254.169.254/latest/meta-data',
  'http://2852039166/',
  'http://[fd00:ec2::254]/',
  'http://①②⑦.⓪.⓪.①/',
  'http://%31%32%37.0.0.1/',
])('%s is refused before anything is sent', text => {
  expect(() => checkLiteral(new URL(text))).toThrow(/not a public address/);
});

test('a name is left to the lookup, which hands on what it has checked', async () => {
  const look = (found: readonly string[], options: object = {}) =>
    new Promise((settle, reject) => {
      const resolve: Resolve = (_, given, done) => {
        expect(given).toMatchObject({ all: true });
        done(
          null,
          found.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
      };
      checkedLookup(resolve)('name.example', options, (error, ...given) => (error ? reject(error) : settle(given)));
    });
  expect(() => checkLiteral(new URL('http://localhost/'))).not.toThrow();
  expect(await look(['8.8.8.8', '2a00::1'])).toEqual(['8.8.8.8', 4]);
  expect(await look(['8.8.8.8'], { all: true })).toEqual([[{ address: '8.8.8.8', family: 4 }]]);
  // One address that is not public makes the look-up fail, because any of the addresses could be used.
  for (const bad of ['127.0.0.1', '::1', '10.0.0.1', '169.254.169.254', '::ffff:10.0.0.1', 'fe80::1%eth0'])
    await expect(look(['8.8.8.8', bad])).rejects.toMatchObject({ retry: false, message: expect.stringContaining(bad) });
  await expect(look([])).rejects.toThrow('name.example has no address');
});

test.each<[url: string, allowed: string, named: boolean]>([
  ['http://intern.example/', 'intern.example', true],
  ['http://INTERN.example./', 'Intern.Example', true],
  ['http://intern.example:8080/', 'intern.example', true],
  ['http://intern.example:8080/', 'intern.example:8080', true],
  ['http://intern.example/', 'intern.example:80', true],
  ['https://intern.example/', 'intern.example:80', false],
  ['http://intern.example:81/', 'intern.example:80', false],
  ['http://a.intern.example/', 'intern.example', false],
  ['http://intern.example.evil.example/', 'intern.example', false],
  ['http://intern.example@evil.example/', 'intern.example', false],
  ['http://2130706433/', '127.0.0.1', true],
  ['http://[::1]:9/', '::1', true],
  ['http://[0::1]:9/', '[::1]:9', true],
  ['http://127.0.0.2/', '127.0.0.1', false],
])('%s with allowed_hosts [%s]: %s', (url, allowed, named) => {
  expect(isNamed(new URL(url), [allowed])).toBe(named);
});
