// Multiples of numbers as they are written: 0.3 is one of 0.1, though the quotient of the two floating numbers is no whole one.

/** `of` is above 0; both are finite. */
export function isMultiple(value: number, of: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(of)) return value % of === 0;
  const [first, second] = [decimalOf(value), decimalOf(of)];
  const exponent = Math.min(first.exponent, second.exponent);
  return scaled(first, exponent) % scaled(second, exponent) === 0n;
}

/** digits × 10^exponent. */
type Decimal = { readonly digits: bigint; readonly exponent: number };

/** The shortest that stands for the number, which is how JSON has it. */
function decimalOf(value: number): Decimal {
  const [mantissa, exponent = '0'] = String(value).split('e') as [string, string?];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

function scaled({ digits, exponent }: Decimal, to: number): bigint {
  return digits * 10n ** BigInt(exponent - to);
}
