// Tags in requests and answers: `tags` of a call or job is an object, and each `tag` of a query or filter is `key:text`.
import { type Schema, Type } from '../runtime/schema-type.ts';
import { tagCharactersMax, tagKeyPattern, tagsMax } from '../runtime/tag-form.ts';
import { type Parameter, repeated } from './query.ts';

/** The schema of `tags` in a call. */
export const tagsSchema: Schema = {
  type: 'object',
  description:
    `At most ${tagsMax} tags. A key has 1 to 32 of a-z, 0-9 and _; a text has at most ${tagCharactersMax} characters. All jobs that ` +
    'descend from the job have the same tags.',
  maxProperties: tagsMax,
  propertyNames: { pattern: tagKeyPattern },
  additionalProperties: { type: 'string', maxLength: tagCharactersMax },
};

/** The schema of the tags of a job in an answer. */
export const jobTagsSchema: Schema = Type.Optional(
  Type.Map(Type.String(), { description: 'The tags of the job; left out if it has none.' }),
);

/** The end of a refusal's message. */
export const tagRule = `must be key:text, such as tenant:acme: the key has 1 to 32 of a-z, 0-9 and _, the text at most ${tagCharactersMax} characters`;

const keyForm = new RegExp(tagKeyPattern);

/** Whether the text is `key:text`. The first colon ends the key. */
export function isTag(given: string): boolean {
  const colon = given.indexOf(':');
  if (colon < 0 || !keyForm.test(given.slice(0, colon))) return false;
  const text = given.slice(colon + 1);
  // A character outside the basic plane counts as one, as in JSON Schema.
  return text.length <= tagCharactersMax || Array.from(text).length <= tagCharactersMax;
}

/** The query parameter `tag`, as `key:text`. */
export const tagParameter: Parameter<readonly string[]> = repeated(tagsMax, {
  schema: { type: 'string', pattern: `${tagKeyPattern.slice(0, -1)}:` },
  rule: tagRule,
  read: given => (isTag(given) ? given : undefined),
});
