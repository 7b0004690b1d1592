// Times as the interface writes them: RFC 3339, UTC, with microseconds.

/** µs since the epoch as text. */
export function timestamp(us: number): string {
  const ms = Math.floor(us / 1000);
  const rest = us - ms * 1000;
  const text = new Date(ms).toISOString();
  return `${text.slice(0, -1)}${String(rest).padStart(3, '0')}Z`;
}
