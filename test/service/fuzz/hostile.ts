// Bytes that are no sound request: framing, lines and encodings with which the HTTP parser, or the guard behind it, must cope.
import { fc } from '../../support/seed.ts';
import { packetsOf, plain, type Request } from './request.ts';

const line = '\r\n';

/** A request, head and body, as text of one character a byte. */
type Shape = (target: string, authorization: string) => string;

const post =
  (headers: readonly string[], body: string): Shape =>
  (_, authorization) =>
    ['POST /plugin/echo/say HTTP/1.1', 'Host: fuzz', authorization, ...headers, '', body].join(line);
const get =
  (...headers: readonly string[]): Shape =>
  (target, authorization) =>
    [`GET ${target} HTTP/1.1`, 'Host: fuzz', authorization, ...headers, '', ''].join(line);
const first =
  (start: string): Shape =>
  (_, authorization) =>
    [start, 'Host: fuzz', authorization, '', ''].join(line);

const chunkedHeader = 'Transfer-Encoding: chunked';
const smuggled = ['POST /system/reload HTTP/1.1', 'Host: fuzz', 'Content-Length: 0', '', ''].join(line);

const shapes: readonly Shape[] = [
  // Contradictory or malformed lengths of the body.
  post(['Content-Length: 2', 'Content-Length: 2'], '{}'),
  post(['Content-Length: 2', 'Content-Length: 40'], '{}'),
  post(['Content-Length: 2', chunkedHeader], `0${line}${line}`),
  post([chunkedHeader, 'Content-Length: 2'], `2${line}{}${line}0${line}${line}`),
  ...['-1', '+2', '0x2', '2, 2', '', ' ', '1e1', '99999999999999999999', '18446744073709551618', '2;', '٢'].map(
    length => post([`Content-Length: ${length}`], `{}${smuggled}`),
  ),
  ...[
    'gzip',
    'gzip, chunked',
    'chunked, chunked',
    'Chunked',
    ' chunked',
    'chunked;q=1',
    'x',
    '',
    'identity',
    '\x0bchunked',
  ].map(coding => post([`Transfer-Encoding: ${coding}`], `2${line}{}${line}0${line}${line}${smuggled}`)),
  post([`Transfer-Encoding : chunked`], `2${line}{}${line}0${line}${line}`),
  post(['Content-Length: 1'], `{}${smuggled}`),
  post(['Content-Length: 2'], `{}${smuggled}`),
  post(['Content-Length: 500'], '{"pay'),
  post([chunkedHeader], '5'),
  ...[
    'zz',
    '-1',
    'ffffffffffffffff',
    '7fffffff',
    '2 ',
    ' 2',
    '2;a=b',
    '2;a="\r"',
    '0x2',
    '',
    '00000000000000000002',
    '2\n',
  ].map(size => post([chunkedHeader], `${size}${line}{}${line}0${line}${line}${smuggled}`)),
  post([chunkedHeader], `2${line}{}X${line}0${line}${line}`),
  post([chunkedHeader], `2${line}{}${line}0${line}X-After: 1${line}${line}`),
  post([chunkedHeader], `2${line}{}${line}0${line}Content-Length: 9${line}${line}${smuggled}`),
  // The first line.
  ...[
    'GET / HTTP/1.0',
    'GET / HTTP/2.0',
    'GET / HTTP/9.9',
    'GET / HTTP/1.1 x',
    'GET /',
    'GET',
    '',
    ' ',
    'GET  / HTTP/1.1',
  ].map(first),
  ...['GET http://fuzz/healthz HTTP/1.1', 'CONNECT fuzz:80 HTTP/1.1', 'OPTIONS * HTTP/1.1', 'GET healthz HTTP/1.1'].map(
    first,
  ),
  ...[
    'GET /a b HTTP/1.1',
    'GET /\0 HTTP/1.1',
    'GET /\xff\xfe HTTP/1.1',
    'GET /\x7f HTTP/1.1',
    'GET /#x HTTP/1.1',
    'GET ? HTTP/1.1',
  ].map(first),
  ...['\x16\x03\x01\x02\0\x01\0\x01', 'PRI * HTTP/2.0', 'G\0T / HTTP/1.1', 'GÉT / HTTP/1.1', 'GET\t/\tHTTP/1.1'].map(
    first,
  ),
  ...[
    `GET /${'a'.repeat(20_000)} HTTP/1.1`,
    `GET /?${'a&'.repeat(10_000)} HTTP/1.1`,
    `${'A'.repeat(20_000)} / HTTP/1.1`,
  ].map(first),
  // Headers.
  get('No colon'),
  get(': no name'),
  get('X: a\0b'),
  get('X: a\rb'),
  get('X: a\nY: b'),
  get('X: folded', ' on'),
  get('X Y: b'),
  get('X\t: b'),
  get('Ü: b'),
  get('X: \x01\x02\x1b'),
  get(`X: ${'x'.repeat(20_000)}`),
  get(`${'x'.repeat(20_000)}: x`),
  get(...Array.from({ length: 300 }, (_, n) => `X-${n}: x`)),
  // Names that HTTP allows and the parser does not.
  ...['__proto__', 'X_a', 'X.a', '~'].map(name => get(`${name}: x`)),
  get('Host: other'),
  get('Expect: 100-continue'),
  get('Expect: 200-ok'),
  get('Connection: Upgrade', 'Upgrade: h2c', 'HTTP2-Settings: x'),
  get('Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: eA=='),
  (target, authorization) => [`GET ${target} HTTP/1.1`, authorization, '', ''].join(line),
  (target, authorization) => [`GET ${target} HTTP/1.1`, 'Host: fuzz', authorization, '', ''].join('\n'),
  (target, authorization) => [`GET ${target} HTTP/1.1`, 'Host: fuzz', authorization].join(line),
  target => `GET ${target} HTTP/1.1${line}Host: fuzz${line}${line}`.repeat(20),
];

/** Sound requests that break off, or are followed by noise. */
function broken(valid: fc.Arbitrary<Request>): fc.Arbitrary<Buffer> {
  const noise = fc.uint8Array({ minLength: 1, maxLength: 40 }).map(list => Buffer.from(list));
  return fc
    .tuple(valid, fc.double({ min: 0, max: 1, noNaN: true }), noise, fc.nat(2))
    .map(([request, share, more, kind]) => {
      const bytes = Buffer.concat(packetsOf(request));
      const at = Math.floor(bytes.length * share);
      if (kind === 0) return bytes.subarray(0, at);
      if (kind === 1) return Buffer.concat([bytes, more]);
      return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
    });
}

export function hostile(valid: fc.Arbitrary<Request>, token: string): fc.Arbitrary<Request> {
  const targets = fc.constantFrom('/healthz', '/jobs', '/openapi.json', '/job/x', '/%zz', '/events');
  const shaped = fc
    .tuple(fc.constantFrom(...shapes), targets)
    .map(([shape, target]) => Buffer.from(shape(target, `Authorization: Bearer ${token}`), 'latin1'));
  const noise = fc.uint8Array({ minLength: 1, maxLength: 200 }).map(list => Buffer.from(list));
  return fc
    .oneof({ weight: 6, arbitrary: shaped }, { weight: 3, arbitrary: broken(valid) }, { weight: 1, arbitrary: noise })
    .map(raw => ({ ...plain, isLoose: true, raw }));
}
