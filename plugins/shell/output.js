// What a program writes, up to a bound.

/** Output may come so long after the program is gone: of what it left in the pipe, or of a child that holds it. */
const drainMs = 100;

/**
 * Calls `tooMuch` once there is more than `bytesMax`. `text` resolves when the stream has ended, or a moment after it is asked for.
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
