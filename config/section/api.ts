// Reads the `api` section.
import { reportDuplicates } from '../check/duplicate.ts';
import type { ReportAt } from '../check/problem.ts';
import { type ApiToken, type Config, servers } from '../config.ts';
import { parseListen, parseSize } from '../quantity.ts';
import { flagOf, itemsOf, type NodePath, nodeAt, numberOf, type SourceNode, textOf, textsOf } from '../source/tree.ts';
import { readListen } from './listen.ts';
import { readProtection } from './tls.ts';

const bodyBytesDefault = 2 ** 20;
const batchBytesDefault = 16 * 2 ** 20;

export function readApi(root: SourceNode, reportAt: ReportAt): Config['api'] {
  const api = nodeAt(root, 'api');
  const path = ['api', 'auth', 'tokens'];
  reportDuplicates(root, path, 'name', 'the name of a token', reportAt);
  reportDuplicates(root, path, 'token', 'the text of a token', reportAt, true);
  return {
    enabled: flagOf(api, 'enabled') ?? true,
    server: servers.find(name => name === textOf(api, 'server')) ?? 'auto',
    listen: readListen(root, ['api', 'listen'], reportAt) ?? parseListen('127.0.0.1:8080')!,
    ...readProtection(root, 'api'),
    bodyBytesMax: readSize(nodeAt(api, 'max_body_size')),
    batchBytesMax: readSize(nodeAt(api, 'batch_max_size'), batchBytesDefault),
    tokens: itemsOf(root, ...path).map((item, index) => readToken(item, [...path, index], reportAt)),
  };
}

function readToken(node: SourceNode, path: NodePath, reportAt: ReportAt): ApiToken {
  return {
    name: textOf(node, 'name') ?? null,
    token: textOf(node, 'token') ?? '',
    scopes: textsOf(node, 'scopes'),
    expiresAtMs: readTime(node, [...path, 'expires_at'], reportAt),
  };
}

/** The time under the last key of `path` in `node`, in ms since the epoch. Null: the key has no text. NaN: the text cannot be read as a time. */
export function readTime(node: SourceNode, path: NodePath, reportAt: ReportAt): number | null {
  const text = textOf(node, path.at(-1)!);
  if (text === undefined) return null;
  const ms = Date.parse(text);
  // Only text that looks like a time is checked here. The schema reports any other text.
  if (/^\d{4}-\d\d-\d\d[Tt]/.test(text) && !isRealTime(text, ms)) {
    const message = `is ${JSON.stringify(text)}, a time that does not exist; it must be a time such as 2027-01-01T00:00:00Z`;
    reportAt(path, message);
  }
  return ms;
}

// Whether the time exists. The day is checked separately, because Date.parse reads 30 February as a day in March.
function isRealTime(text: string, ms: number): boolean {
  if (Number.isNaN(ms)) return false;
  const [year, month, day] = text.slice(0, 10).split('-').map(Number);
  return new Date(Date.UTC(year!, month!, 0)).getUTCDate() >= day! && day! >= 1;
}

export function readSize(node: SourceNode | undefined, bytesDefault = bodyBytesDefault): number {
  return parseSize(numberOf(node) ?? textOf(node)) ?? bytesDefault;
}
