// Asks the ledger for the held jobs, and for the jobs that another configuration would hold.

import type { HeldJobs, QueuedJobs } from '../actors/job/protocol.ts';
import type { Config } from '../config/config.ts';
import type { Link } from '../runtime/link.ts';
import { sandboxFault } from '../runtime/processes/sandbox.ts';
import { countText } from '../runtime/text.ts';
import { askLedger } from './ask-ledger.ts';

/** The jobs that are held now, other than by a pause; null if the ledger does not respond. */
export async function heldNow(link: Link): Promise<readonly HeldJobs[] | null> {
  return (await askLedger(link, { kind: 'ask_held' }))?.held ?? null;
}

/**
 * The queued jobs that this configuration would hold, except jobs that are held already for a reason other than a pause. Null: the ledger
 * does not respond.
 */
export async function heldUnder(link: Link, config: Config): Promise<readonly QueuedJobs[] | null> {
  const refused = await withoutSandbox(config);
  const usable = Object.values(config.plugins).filter(({ name }) => !refused.has(name));
  const commands = usable.map(({ name, manifest }) => [name, manifest.commands.map(one => one.name)]);
  const reply = await askLedger(link, { kind: 'ask_held', next: Object.fromEntries(commands) });
  return reply?.held.map(({ plugin, command, jobs }) => ({ plugin, command, jobs })) ?? null;
}

/**
 * The plugins whose sandbox this machine cannot provide. Tries equal sandboxes once, and one sandbox at a time: starting a process blocks the
 * main thread.
 */
async function withoutSandbox({ plugins }: Config): Promise<ReadonlySet<string>> {
  const faults = new Map<string, string | null>();
  const refused = new Set<string>();
  for (const { name, sandbox } of Object.values(plugins)) {
    if (!sandbox) continue;
    const text = JSON.stringify(sandbox);
    if (!faults.has(text)) faults.set(text, await sandboxFault(sandbox));
    if (faults.get(text) !== null) refused.add(name);
  }
  return refused;
}

/** A text like `3 jobs of resize.handle, 1 of mail.send`. */
export function heldText(held: readonly QueuedJobs[]): string {
  const [first, ...others] = held.map(({ plugin, command, jobs }) => [jobs, `${plugin}.${command}`] as const);
  if (!first) return 'no jobs';
  const head = `${countText(first[0], 'job')} of ${first[1]}`;
  return [head, ...others.map(([jobs, name]) => `${jobs} of ${name}`)].join(', ');
}
