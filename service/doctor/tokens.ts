// The doctor's check of API tokens. The check names the tokens with `jobs:rw`, which may cancel jobs and run them again. In
// versions without cancels, `jobs:rw` only allowed reading, so some tokens may still have this scope only for reading.
import type { ApiToken } from '../../config/config.ts';

export function checkTokens(tokens: readonly ApiToken[]): { passed: true; detail: string } {
  const named = tokens.flatMap(({ name, scopes }, n) =>
    scopes.includes('jobs:rw') ? [name ?? `number ${n + 1}`] : [],
  );
  if (named.length === 0) return { passed: true, detail: 'none has the scope jobs:rw' };
  return {
    passed: true,
    detail: `with jobs:rw these cancel jobs and run them again: ${named.join(', ')}; to read jobs, jobs:ro is enough`,
  };
}
