// Bodies that come in chunks, each with its length before it, for answers whose length nobody knows when they begin.

const lineEnd = Buffer.from('\r\n');

/** The body that begins at `at`, which is the last of the bytes; null: there is more to come. */
export function chunkedBody(bytes: Buffer, at: number): Buffer | null {
  const chunks: Buffer[] = [];
  for (let here = at; ; ) {
    const end = bytes.indexOf(lineEnd, here);
    if (end < 0) return null;
    const length = Number.parseInt(bytes.toString('latin1', here, end), 16);
    const from = end + lineEnd.length;
    here = from + length + lineEnd.length;
    if (bytes.length < here) return null;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(bytes.subarray(from, from + length));
  }
}
