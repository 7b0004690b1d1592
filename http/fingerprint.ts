// The fingerprints of groups of failed jobs, in requests and answers. GET /failures shows them, and filters of jobs accept them.
import { fingerprintPattern } from '../actors/index/records/fingerprint.ts';
import type { Schema } from '../runtime/schema-type.ts';
import type { Parameter } from './query.ts';

const example = '5f0c2ab17d94e836';

export const fingerprintSchema: Schema = { type: 'string', pattern: fingerprintPattern, examples: [example] };

/** The end of a refusal's message. */
export const fingerprintRule = `must be the fingerprint of a group of GET /failures, such as ${example}: 16 of 0-9 and a-f`;

const form = new RegExp(fingerprintPattern);

export function isFingerprint(given: string): boolean {
  return form.test(given);
}

export const fingerprintParameter: Parameter<string> = {
  schema: fingerprintSchema,
  rule: fingerprintRule,
  read: given => (isFingerprint(given) ? given : undefined),
};
