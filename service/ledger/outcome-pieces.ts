// What hosts say comes to the ledger in pieces, so that a turn can end between two of them.
import { hasDeflated, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/port.ts';

/** Outcomes of one piece, and what their bodies may take together. */
export const pieceTasksMax = 128;
export const pieceBytesMax = 64 * 2 ** 10;

/** Outcomes in their order. One that is much work by itself is a piece of its own. */
export function inPieces(outcomes: readonly Outcome[]): readonly (readonly Outcome[])[] {
  const pieces: Outcome[][] = [];
  let piece: Outcome[] = [];
  let bytes = 0;
  for (const outcome of outcomes) {
    const weight = weightOf(outcome);
    if (piece.length > 0 && (piece.length >= pieceTasksMax || bytes + weight > pieceBytesMax)) {
      pieces.push(piece);
      piece = [];
      bytes = 0;
    }
    piece.push(outcome);
    bytes += weight;
  }
  if (piece.length > 0) pieces.push(piece);
  return pieces;
}

/** A change of the state may copy a state of any size, and what is deflated is larger than it shows. */
function weightOf({ body }: Outcome): number {
  return hasPart(body, 'state_updates') || hasDeflated(body) ? pieceBytesMax : body.length;
}
