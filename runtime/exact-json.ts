// Parses JSON. A number that is written as an integer beyond ±(2^53 − 1) becomes text, so that it is not rounded.

/** A double can hold every integer with fewer digits than this without loss. */
export const bigIntegerDigitsMin = 16;

const longDigits = /\d{16}/;
const integer = /^-?[1-9]\d*$/;

/** Whether the number is written as an integer, without fraction or exponent, and lies beyond ±(2^53 − 1). */
export function isBigInteger(literal: string): boolean {
  return integer.test(literal) && !Number.isSafeInteger(Number(literal));
}

/** Returns the parsed value and `integersAsText`, the number of its integers that became text. Throws the errors of JSON.parse. */
export function parseExactly(text: string): { readonly value: unknown; readonly integersAsText: number } {
  const value: unknown = JSON.parse(text);
  if (!longDigits.test(text)) return { value, integersAsText: 0 };
  const { quoted, integersAsText } = quoteBigIntegers(text);
  return { value: integersAsText === 0 ? value : JSON.parse(quoted), integersAsText };
}

/** Puts the integers beyond ±(2^53 − 1) in quotes. The text must be valid JSON. */
function quoteBigIntegers(text: string): { readonly quoted: string; readonly integersAsText: number } {
  const pieces: string[] = [];
  let from = 0;
  for (let i = 0; i < text.length; ) {
    const code = text.charCodeAt(i);
    if (code === quote) i = stringEnd(text, i);
    else if (isOfNumber(code)) {
      const end = numberEnd(text, i);
      const literal = end - i >= bigIntegerDigitsMin ? text.slice(i, end) : '';
      if (isBigInteger(literal)) {
        pieces.push(text.slice(from, i), '"', literal, '"');
        from = end;
      }
      i = end;
    } else i++;
  }
  return { quoted: pieces.join('') + text.slice(from), integersAsText: pieces.length / 4 };
}

const quote = 0x22;
const backslash = 0x5c;

function stringEnd(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) return i + 1;
    if (code === backslash) i++;
  }
}

/** Whether the character is a digit, a minus sign or a decimal point. Inside a number, `e`, `E` and `+` can follow. */
function isOfNumber(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2e;
}

function numberEnd(text: string, start: number): number {
  for (let i = start + 1; ; i++) {
    const code = text.charCodeAt(i);
    if (!isOfNumber(code) && code !== 0x65 && code !== 0x45 && code !== 0x2b) return i;
  }
}
