// The outcomes of a host are delivered to the ledger in chunks, so that a turn can end between two of them.
import { hasDeflated, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';

/** At most this many outcomes, and bytes of their bodies, in one chunk. */
export const chunkTasksMax = 128;
export const chunkBytesMax = 64 * 2 ** 10;

/** The outcomes in their order. An outcome that is much work is a chunk of its own. */
export function chunkOutcomes(outcomes: readonly Outcome[]): readonly (readonly Outcome[])[] {
  const chunks: Outcome[][] = [];
  let chunk: Outcome[] = [];
  let bytes = 0;
  for (const outcome of outcomes) {
    const weight = weightOf(outcome);
    if (chunk.length > 0 && (chunk.length >= chunkTasksMax || bytes + weight > chunkBytesMax)) {
      chunks.push(chunk);
      chunk = [];
      bytes = 0;
    }
    chunk.push(outcome);
    bytes += weight;
  }
  if (chunk.length > 0) chunks.push(chunk);
  return chunks;
}

/** A state update may copy a state of any size, and a deflated body grows when it is inflated. */
function weightOf({ body }: Outcome): number {
  return hasPart(body, 'state_updates') || hasDeflated(body) ? chunkBytesMax : body.length;
}
