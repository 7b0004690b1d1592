// CRC-32C (Castagnoli), the checksum of the commit log. With eight tables, each step processes eight bytes.

const polynomial = 0x82f63b78;
type Tables = [Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array, Int32Array];
const [t0, t1, t2, t3, t4, t5, t6, t7] = makeTables() as Tables;

/** The checksum of these bytes, an unsigned number of 32 bits. The computation is fastest on memory that is aligned to 4 bytes. */
export function crc32c(bytes: Uint8Array): number {
  let sum = -1;
  let at = 0;
  const { length, buffer, byteOffset } = bytes;
  if (byteOffset % 4 === 0) {
    const words = new Int32Array(buffer, byteOffset, length >> 2);
    const pairs = words.length & ~1;
    for (let n = 0; n < pairs; n += 2) {
      const low = sum ^ words[n]!;
      const high = words[n + 1]!;
      sum =
        t7[low & 255]! ^
        t6[(low >>> 8) & 255]! ^
        t5[(low >>> 16) & 255]! ^
        t4[low >>> 24]! ^
        t3[high & 255]! ^
        t2[(high >>> 8) & 255]! ^
        t1[(high >>> 16) & 255]! ^
        t0[high >>> 24]!;
    }
    at = pairs * 4;
  }
  for (; at < length; at++) sum = t0[(sum ^ bytes[at]!) & 255]! ^ (sum >>> 8);
  return ~sum >>> 0;
}

function makeTables(): Int32Array[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? (sum >>> 1) ^ polynomial : sum >>> 1;
    first[byte] = sum;
  }
  const made = [first];
  for (let n = 1; n < 8; n++) made.push(made[n - 1]!.map(sum => first[sum & 255]! ^ (sum >>> 8)));
  return made;
}
