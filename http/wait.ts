// How long a caller wants to wait for its job: `?wait=30s`, or the preference `wait` in seconds (RFC 7240).

import { durationPattern, parseDuration } from '../config/quantity.ts';
import { waitersMax } from '../service/job-waiters.ts';
import { type Answer, type Headers, withHeaders } from './answer.ts';
import { preferredSeconds } from './prefer.ts';
import type { Parameter } from './query.ts';
import type { HttpCall } from './route.ts';
import type { WaitEnd } from './routes/waiting.ts';

export const waitSecondsMax = 60;

export const waitParameter: Parameter<number> = {
  schema: { type: 'string', pattern: durationPattern },
  rule: `must be a duration from 0s to ${waitSecondsMax}s, such as 30s`,
  read(text) {
    const ms = parseDuration(text);
    return ms !== undefined && ms <= waitSecondsMax * 1000 ? ms : undefined;
  },
};

export const waitNotes =
  `With \`?wait=30s\`, or with the header \`Prefer: wait=30\` (RFC 7240), the answer waits until the job has ended, for at most ` +
  `${waitSecondsMax} s: 200 if it has ended, else 202. At most ${waitersMax} callers wait at the same time; further ones are answered at once.`;

/** A caller's wish to wait. `applied`: the header that confirms a wish from the header `Prefer`; empty for the query parameter. */
export type Wait = { readonly ms: number; readonly applied: Headers };

/** How long the caller wants to wait; null if the caller does not want to wait. The query parameter takes precedence over the preference. */
export function waitOf(call: Pick<HttpCall<unknown, { readonly wait?: number }>, 'query' | 'headerList'>): Wait | null {
  const { wait } = call.query;
  if (wait !== undefined) return { ms: wait, applied: [] };
  const preferred = preferredSeconds(call.headerList('prefer'));
  if (preferred === null) return null;
  const seconds = Math.min(waitSecondsMax, preferred);
  return { ms: seconds * 1000, applied: [['Preference-Applied', `wait=${seconds}`]] };
}

/** The answer to a caller that wanted to wait. The headers in `applied` are added, unless the caller could not wait (`crowded`). */
export function waitedAnswer(answer: Answer, { applied }: Wait, how: WaitEnd): Answer {
  return how === 'crowded' ? answer : withHeaders(answer, applied);
}
