// Decodes bodies in chunked transfer encoding.

const lineEnd = Buffer.from('\r\n');

/** Decodes the body that begins at `at`. Null: the body is not complete yet. */
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
