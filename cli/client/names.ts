// Asks the service for the names of plugins, pipelines or schedules, to complete a command line. If the call fails or takes too long, no
// names are offered.
import type { CompletionCandidate, NamesQuery } from '../completion.ts';
import type { Io } from '../io.ts';
import { findAddress } from './address.ts';
import { Client } from './client.ts';

/** The time limit for an answer. It is short, because the user has pressed the completion key and is waiting. */
const answerMsMax = 1_000;

type Named = { readonly description?: string };
type Plugins = { readonly plugins: readonly (Named & { readonly name: string })[] };
type Schedules = { readonly schedules: readonly { readonly id: string; readonly state: string }[] };
type Skills = { readonly skills: readonly (Named & { readonly kind: string; readonly pipeline: string })[] };

export async function offeredNames(
  { names, current, address }: NamesQuery,
  io: Io,
): Promise<readonly CompletionCandidate[]> {
  try {
    const client = new Client(await findAddress(address, io));
    const offers = await readers[names](client);
    return offers
      .filter(({ text }) => text.startsWith(current) && !/[\s\p{Cc}]/u.test(text))
      .map(({ text, description }) => ({ text, description: description.replaceAll(/[\s\p{Cc}]+/gu, ' ') }));
  } catch {
    return [];
  }
}

const readers: { readonly [K in NamesQuery['names']]: (client: Client) => Promise<CompletionCandidate[]> } = {
  plugin: plugins,
  pipeline: pipelines,
  schedule: schedules,
};

async function plugins(client: Client): Promise<CompletionCandidate[]> {
  const answer = (await read(client, '/plugins')) as Plugins;
  return answer.plugins.map(({ name, description = '' }) => ({ text: name, description }));
}

async function pipelines(client: Client): Promise<CompletionCandidate[]> {
  const { skills } = (await read(client, '/skills')) as Skills;
  const found = skills.filter(({ kind }) => kind === 'pipeline');
  return found.map(({ pipeline, description = '' }) => ({ text: pipeline, description }));
}

/** Offers only the first page of schedules, because the service would take too long to list a hundred thousand. */
async function schedules(client: Client): Promise<CompletionCandidate[]> {
  const answer = (await read(client, '/schedules?limit=200')) as Schedules;
  const configured = answer.schedules.filter(({ state }) => state !== 'removed');
  return configured.map(({ id, state }) => ({ text: id, description: state }));
}

async function read(client: Client, path: string): Promise<unknown> {
  const response = await client.open('GET', path, undefined, { signal: AbortSignal.timeout(answerMsMax) });
  return response.json();
}
