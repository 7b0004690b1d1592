// The option `--tag key=text`, which gives a tag to the jobs of a call, or selects the jobs with a tag.
import { InvalidArgumentError, Option } from 'commander';
import { usageFailure } from '../failure.ts';

/** Each tag as `key:text`, which is its form in a query. */
export type TagOptions = { readonly tag?: readonly string[] };

export function tagOption(description: string): Option {
  return new Option('--tag <key=text>', `${description}; may be given several times`).argParser(gatherTag);
}

function gatherTag(given: string, earlier: readonly string[] = []): readonly string[] {
  if (!/^[a-z0-9_]{1,32}=/.test(given))
    throw new InvalidArgumentError('a tag looks like tenant=acme: a key of 1 to 32 of a-z, 0-9 and _, then its text.');
  return [...earlier, given.replace('=', ':')];
}

/** The tags as an object, for the body of a call. Undefined: the call has no tags. Throws a usage failure if a key is given twice. */
export function tagsOf({ tag = [] }: TagOptions): { readonly [key: string]: string } | undefined {
  if (tag.length === 0) return undefined;
  const tags = new Map<string, string>();
  for (const one of tag) {
    const colon = one.indexOf(':');
    const key = one.slice(0, colon);
    if (tags.has(key)) throw usageFailure(`--tag gives the tag ${key} more than once`);
    tags.set(key, one.slice(colon + 1));
  }
  return Object.fromEntries(tags);
}
