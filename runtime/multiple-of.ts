// Multiples of numbers as they are written: 0.3 is one of 0.1, though the quotient of the two floating numbers is no whole one.

/** `of` is above 0. What is too large for a number, as 1e999, is a multiple of nothing. */
export function isMultiple(value: number, of: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  const [first, second] = [decimalOf(value), decimalOf(of)];
  const shift = first.exponent - second.exponent;
  return (first.digits * powerOfTen(shift)) % (second.digits * powerOfTen(-shift)) === 0n;
}

/** digits × 10^exponent. There are 17 digits at most. */
type Decimal = { readonly digits: bigint; readonly exponent: number };

/** The shortest that stands for the number, which is how JSON has it. */
function decimalOf(value: number): Decimal {
  const [mantissa, exponent = '0'] = String(value).split('e') as [string, string?];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const powers = Array.from({ length: 57 }, (_, n) => 10n ** BigInt(n));

/** Of a higher power the highest does as well: 10^17 is below 2^57, so 17 digits have no more factors 2 or 5, and are less than 10^56. */
function powerOfTen(exponent: number): bigint {
  return powers[Math.max(0, Math.min(exponent, powers.length - 1))]!;
}
