// JSON answers: a small one is written at once, a large one at the speed of its reader.

import { type JsonPart, jsonChunks } from '../service/json/chunks.ts';
import type { AnswerSink } from '../service/reads/reads.ts';
import { type Answer, json } from './answer.ts';
import { jsonType } from './response-head.ts';

/** Written at once; then other requests have their turn. */
const chunkCharsMin = 65_536;

export function jsonAnswer(parts: Iterable<JsonPart>): Answer {
  const rest = jsonChunks(parts)[Symbol.iterator]();
  const first = nextChunk(rest);
  if (first.isLast) return json(200, first.text);
  return { kind: 'stream', status: 200, contentType: jsonType, open: sink => stream(first.text, rest, sink) };
}

function stream(first: string, rest: Iterator<string>, sink: AnswerSink): void {
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
