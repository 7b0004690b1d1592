// Decides, by decimal digits, whether one number is a multiple of another. 0.3 is a multiple of 0.1, although the quotient of the two
// doubles is not an integer.

/** Whether `value` is a multiple of `of`, which must be positive. A value too large for a double, such as 1e999, is a multiple of no number. */
export function isMultiple(value: number, of: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  const [first, second] = [decimalOf(value), decimalOf(of)];
  const shift = first.exponent - second.exponent;
  return (first.digits * powerOfTen(shift)) % (second.digits * powerOfTen(-shift)) === 0n;
}

/**
 * The number digits × 10^exponent. `digits` has at most 21 digits, because `String` writes a number of 10^21 or more with an exponent and
 * at most 17 digits.
 */
type Decimal = { readonly digits: bigint; readonly exponent: number };

/** The shortest decimal that represents the number, as in JSON. */
function decimalOf(value: number): Decimal {
  const [mantissa, exponent = '0'] = String(value).split('e') as [string, string?];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const powers = Array.from({ length: 71 }, (_, n) => 10n ** BigInt(n));

/**
 * 10^exponent, but at least 1 and at most 10^70. A higher power would not change the result of `isMultiple`: `digits` is less than 10^21,
 * and so less than 2^70, and contains the factors 2 and 5 at most 69 times each.
 */
function powerOfTen(exponent: number): bigint {
  return powers[Math.max(0, Math.min(exponent, powers.length - 1))]!;
}
