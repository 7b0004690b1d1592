// Times in microseconds: the current time, and the times of job records (RFC 3339), which Date would cut to
// milliseconds.

/** Converts an RFC 3339 time to µs since the epoch. Throws if the time is null. */
export function momentUs(text: string | null): number {
  if (text === null) throw new Error('the time is null');
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? '';
  const wholeUs = Date.parse(text.replace(/\.\d+/, '')) * 1000;
  return wholeUs + Number(fraction.padEnd(6, '0').slice(0, 6));
}

/** The current time in µs since the epoch. */
export function nowUs(): number {
  return (performance.timeOrigin + performance.now()) * 1000;
}
