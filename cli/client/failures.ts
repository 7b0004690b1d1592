// The groups of failed jobs in the API.
import type { failureJson } from '../../service/json/failures.ts';
import type { Client, ClientQuery } from './client.ts';
import type { Page } from './lists.ts';

export type FailureGroupDocument = ReturnType<typeof failureJson>;
type FailureGroupPage = Page & { readonly failures: readonly FailureGroupDocument[] };

const form = {
  failures: ['fingerprint', 'plugin', 'command', 'pattern', 'count', 'trend', 'last_at'],
  total: true,
} as const;

/** Fetches a page of groups, the most recently seen first. `query`: the parameters of `GET /failures`. */
export function fetchFailureGroups(client: Client, query: ClientQuery): Promise<FailureGroupPage> {
  return client.get<FailureGroupPage>('/failures', form, query);
}
