// Documents that depend on the configuration alone: encoded once per configuration, with ETag and 304.
import { createHash } from 'node:crypto';
import { perConfig } from './per-config.ts';
import type { Answer, Headers, HttpCall } from './route.ts';

type CachedDocument = { readonly bytes: Uint8Array; readonly etag: string; readonly headers: Headers };

const documentsOf = perConfig(() => new Map<string, CachedDocument>());

/** Answers with the document of this name. `make` is called at most once per configuration and name. */
export function answerDocument(
  call: Pick<HttpCall, 'config' | 'header' | 'caller'>,
  name: string,
  make: () => unknown,
): Answer {
  const documents = documentsOf(call.config);
  let document = documents.get(name);
  if (!document) {
    document = cachedDocument(make(), call.caller === null);
    documents.set(name, document);
  }
  const { bytes, etag, headers } = document;
  const known = call.header('if-none-match');
  if (known !== undefined && matches(known, etag)) return { kind: 'unchanged', headers };
  return { kind: 'json', status: 200, body: bytes, headers };
}

function cachedDocument(value: unknown, isOpen: boolean): CachedDocument {
  const bytes = Buffer.from(JSON.stringify(value));
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  // `no-cache`: clients may store an open document but must revalidate it, because a reload can change it.
  const caching: Headers = isOpen ? [['Cache-Control', 'no-cache']] : [];
  return { bytes, etag, headers: [['ETag', etag], ...caching] };
}

/** Whether If-None-Match names this ETag. The comparison is weak (RFC 9110, 13.1.2): a prefix `W/` does not matter. */
function matches(known: string, etag: string): boolean {
  if (known.trim() === '*') return true;
  const tags: readonly string[] = known.match(/"[^"]*"/g) ?? [];
  return tags.includes(etag);
}
