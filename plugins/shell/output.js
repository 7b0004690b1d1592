// The output of a program, up to a limit.

/** How long output is awaited after the program has exited: the rest of the pipe, or output of a child that still holds it. */
const drainMs = 100;

/**
 * Calls `tooMuch` once there is more than `bytesMax`. `text` resolves when the stream has ended, or `drainMs` after the call.
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
