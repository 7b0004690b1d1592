// Divides the outcomes of a host into chunks, which the ledger gets as separate messages: a turn can end between two chunks.
import { hasDeflated, hasPart } from '../../runtime/host/wire/outcome.ts';
import type { Outcome } from '../../runtime/host/wire/plugin-host.ts';

/** The maximum number of outcomes in a chunk. */
export const chunkTasksMax = 128;
/** The maximum total size of the bodies in a chunk, in bytes. A single outcome may be larger. */
export const chunkBytesMax = 64 * 2 ** 10;

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

/** An outcome that may take much work counts like a full chunk: a state update copies the plugin's state, and a deflated body grows. */
function weightOf({ body }: Outcome): number {
  return hasPart(body, 'state_updates') || hasDeflated(body) ? chunkBytesMax : body.length;
}
