// Classifies IP addresses: those on the public internet, and the kinds of all others.

/** @type {readonly (readonly [block: string, kind: string])[]} */
const blocks4 = [
  ['0.0.0.0/8', 'unspecified'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private'],
  ['127.0.0.0/8', 'loopback'],
  // This block includes the metadata services of clouds, which return credentials.
  ['169.254.0.0/16', 'link-local'],
  ['168.63.129.16/32', 'metadata'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'reserved'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'reserved'],
  ['203.0.113.0/24', 'reserved'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
];

/** The last 32 bits of an address in one of these blocks are an IPv4 address, which is classified instead. */
const embedding6 = ['::ffff:0:0/96', '64:ff9b::/96'];
/** @type {readonly (readonly [block: string, kind: string])[]} */
const blocks6 = [
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'private'],
  ['fc00::/7', 'private'],
  ['ff00::/8', 'multicast'],
  // Tunnels, identifiers and documentation, within the public range.
  ['2001::/23', 'reserved'],
  ['2001:db8::/32', 'reserved'],
  ['2002::/16', 'reserved'],
  ['3fff::/20', 'reserved'],
];
/** The range from which public addresses are assigned. */
const public6 = '2000::/3';

/**
 * `public`, or the kind of a non-public address; `invalid` for text that is not an address.
 * @param {string} address without brackets; a zone is ignored
 * @returns {string}
 */
export function kindOfAddress(address) {
  const bits = address.includes(':') ? bits6(address.replace(/%.*$/, '')) : bits4(address);
  if (bits === null) return 'invalid';
  return address.includes(':') ? kind6(bits) : kind4(bits);
}

/** @param {bigint} bits @returns {string} */
function kind4(bits) {
  return blocks4.find(([block]) => isIn(bits, block, 32))?.[1] ?? 'public';
}

/** @param {bigint} bits @returns {string} */
function kind6(bits) {
  if (embedding6.some(block => isIn(bits, block, 128))) return kind4(bits & 0xffff_ffffn);
  const found = blocks6.find(([block]) => isIn(bits, block, 128))?.[1];
  return found ?? (isIn(bits, public6, 128) ? 'public' : 'reserved');
}

/** @param {bigint} bits @param {string} block @param {32 | 128} width */
function isIn(bits, block, width) {
  const [start = '', length = ''] = block.split('/');
  const first = width === 32 ? bits4(start) : bits6(start);
  const shift = BigInt(width - Number(length));
  return first !== null && bits >> shift === first >> shift;
}

/** @param {string} address @returns {bigint | null} */
function bits4(address) {
  const parts = address.split('.');
  if (parts.length !== 4 || parts.some(part => !/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255)) return null;
  return parts.reduce((bits, part) => (bits << 8n) | BigInt(part), 0n);
}

/** @param {string} address @returns {bigint | null} */
function bits6(address) {
  const dotted = /^(.*:)([\d.]+)$/.exec(address);
  const tail = dotted?.[2]?.includes('.') ? bits4(dotted[2]) : undefined;
  if (tail === null) return null;
  const text =
    tail === undefined ? address : `${dotted?.[1]}${(tail >> 16n).toString(16)}:${(tail & 0xffffn).toString(16)}`;
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const [before = [], after = []] = halves.map(half => (half === '' ? [] : half.split(':')));
  const missing = 8 - before.length - after.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
  const groups = [...before, ...Array(missing).fill('0'), ...after];
  if (groups.some(group => !/^[\da-f]{1,4}$/i.test(group))) return null;
  return groups.reduce((bits, group) => (bits << 16n) | BigInt(`0x${group}`), 0n);
}
