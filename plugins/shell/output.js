// The output of a program, up to a limit.

/** After the program has exited, its output is read for at most this long: the rest of the pipe, or output of a child that holds it open. */
const drainMs = 100;

/**
 * Collects the output of a stream. Calls `tooMuch` once, if the output exceeds `bytesMax`. The promise of `text` resolves when the stream has
 * ended, or `drainMs` after `text` was called.
 * @param {import('node:stream').Readable} stream
 * @param {number} bytesMax
 * @param {() => void} tooMuch
 */
export function outputOf(stream, bytesMax, tooMuch) {
  /** @type {Buffer[]} */
  const chunks = [];
  let bytes = 0;
  const output = {
    isCut: false,
    /** @returns {Promise<string>} */
    async text() {
      if (!stream.closed) {
        await new Promise(settle => {
          const timer = setTimeout(settle, drainMs);
          stream.once('close', () => settle(clearTimeout(timer)));
        });
        stream.destroy();
      }
      return Buffer.concat(chunks).toString();
    },
  };
  stream.on('data', chunk => {
    const room = bytesMax - bytes;
    bytes += chunk.length;
    if (room > 0) chunks.push(chunk.subarray(0, room));
    if (bytes <= bytesMax || output.isCut) return;
    output.isCut = true;
    tooMuch();
  });
  stream.on('error', () => {});
  return output;
}
