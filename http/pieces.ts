// Answers of JSON that may be large: a small one is written whole, a large one as fast as its reader takes it.

import { type JsonPart, jsonPieces } from '../service/json/pieces.ts';
import type { Sink } from '../service/reads/reads.ts';
import { type Answer, json } from './answer.ts';
import { jsonType } from './response-head.ts';

/** So much is made at once, and written; then the loop turns. */
const chunkCharsMin = 65_536;

export function inPieces(parts: Iterable<JsonPart>): Answer {
  const rest = jsonPieces(parts)[Symbol.iterator]();
  const first = nextChunk(rest);
  if (first.isLast) return json(200, first.text);
  return { kind: 'stream', status: 200, contentType: jsonType, open: sink => stream(first.text, rest, sink) };
}

function stream(first: string, rest: Iterator<string>, sink: Sink): void {
  const writeNext = () => {
    const { text, isLast } = nextChunk(rest);
    sink.write(text);
    if (isLast) sink.end();
    else sink.onReady(writeNext);
  };
  sink.write(first);
  sink.onReady(writeNext);
}

function nextChunk(pieces: Iterator<string>): { readonly text: string; readonly isLast: boolean } {
  let text = '';
  for (let next = pieces.next(); !next.done; next = pieces.next()) {
    text += next.value;
    if (text.length >= chunkCharsMin) return { text, isLast: false };
  }
  return { text, isLast: true };
}
