// The doctor's check of API tokens. It names the tokens with `jobs:rw`, which allows cancels and reruns. A token may have this scope although its
// holder only reads jobs, for which `jobs:ro` is enough.
import type { ApiToken } from '../../config/config.ts';
import { type CheckResult, passed } from './result.ts';

export function checkTokens(tokens: readonly ApiToken[]): CheckResult {
  const named = tokens.flatMap(({ name, scopes }, n) =>
    scopes.includes('jobs:rw') ? [name ?? `number ${n + 1}`] : [],
  );
  if (named.length === 0) return passed('none has the scope jobs:rw');
  return passed(
    `tokens that can cancel and rerun jobs (jobs:rw): ${named.join(', ')}; to read jobs, jobs:ro is enough`,
  );
}
