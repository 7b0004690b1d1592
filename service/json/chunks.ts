// Writes JSON that contains packed values, in chunks. Each chunk takes little time, however large the values are.
import { jsonPieces } from '../../runtime/packed-steps.ts';

/** A chunk encodes at most this many packed bytes. */
export const chunkBytes = 16 * 1024;

/** JSON text, or a function that reads a packed value. The function is called when the value is to be written. */
export type JsonPart = string | (() => Uint8Array);

export function* jsonChunks(parts: Iterable<JsonPart>): Iterable<string> {
  for (const part of parts) {
    if (typeof part === 'string') yield part;
    else yield* jsonPieces(part(), chunkBytes);
  }
}
