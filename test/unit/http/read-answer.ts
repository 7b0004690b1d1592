// What the reads thread would answer, written on this thread.
import { type JsonPart, jsonChunks } from '../../../service/json/chunks.ts';
import type { AnswerSink, ReadAnswer } from '../../../service/reads/reads.ts';

/** Whole, or in pieces as its reader takes them. */
export function readAnswer(parts: Iterable<JsonPart>): ReadAnswer {
  const chunks = jsonChunks(parts)[Symbol.iterator]();
  const first = nextPiece(chunks);
  if (first.isLast) return { kind: 'whole', text: first.text };
  return { kind: 'pieces', open: sink => write(sink, first) };

  function write(sink: AnswerSink, { text, isLast }: ReturnType<typeof nextPiece>): void {
    sink.write(text);
    if (isLast) sink.end();
    else sink.onReady(() => write(sink, nextPiece(chunks)));
  }
}

function nextPiece(chunks: Iterator<string>): { readonly text: string; readonly isLast: boolean } {
  let text = '';
  for (let next = chunks.next(); !next.done; next = chunks.next()) {
    text += next.value;
    if (text.length >= 65_536) return { text, isLast: false };
  }
  return { text, isLast: true };
}
