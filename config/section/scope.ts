// The scopes of API tokens (docs/contract.md#access).

export const scopes = [
  '*',
  'plugin:ro',
  'plugin:rw',
  'plugin:catalog:ro',
  'jobs:ro',
  'jobs:rw',
  'jobs:status:ro',
  'jobs:tree:ro',
  'jobs:logs:ro',
  'jobs:result:ro',
  'control:ro',
  'control:rw',
  'events:ro',
  'events:rw',
  'system:ro',
  'system:rw',
  'metrics:ro',
] as const;
export type ApiScope = (typeof scopes)[number];
