// Held jobs, as the ledger reports them: those held now, and those that another configuration would hold.
import type { HeldJobs, HeldQuery, HeldReply, QueuedJobs } from '../actors/job/protocol.ts';
import type { Config } from '../config/config.ts';
import type { Link } from '../runtime/link.ts';
import { sandboxFault } from '../runtime/processes/sandbox.ts';

/** The commands of each plugin. */
export type Commands = NonNullable<HeldQuery['next']>;

export function commandsOf({ plugins }: Config): Commands {
  const commands = Object.values(plugins).map(({ name, manifest }) => [name, manifest.commands.map(one => one.name)]);
  return Object.fromEntries(commands);
}

/** Null: the ledger does not respond. */
export async function heldNow(link: Link): Promise<readonly HeldJobs[] | null> {
  return ask(link, {});
}

/** Queued jobs that are not held now and would be under this configuration. */
export async function heldUnder(link: Link, config: Config): Promise<readonly QueuedJobs[] | null> {
  const { plugins } = config;
  const faults = await Promise.all(
    Object.values(plugins).map(async ({ name, sandbox }) => (sandbox && (await sandboxFault(sandbox)) ? name : null)),
  );
  const next = Object.entries(commandsOf(config)).filter(([name]) => !faults.includes(name));
  const held = await ask(link, { next: Object.fromEntries(next) });
  return held === null ? null : held.map(({ plugin, command, jobs }) => ({ plugin, command, jobs }));
}

async function ask(link: Link, question: Pick<HeldQuery, 'next'>): Promise<readonly HeldJobs[] | null> {
  try {
    const reply = await link.ask<HeldReply | { readonly kind: 'refused' }>('job', { kind: 'ask_held', ...question });
    return reply.kind === 'held' ? reply.held : null;
  } catch {
    return null;
  }
}

/** `3 jobs of resize.handle, 1 of mail.send`. */
export function heldText(held: readonly QueuedJobs[]): string {
  const [first, ...others] = held.map(({ plugin, command, jobs }) => [jobs, `${plugin}.${command}`] as const);
  if (!first) return 'no jobs';
  const head = `${first[0]} ${first[0] === 1 ? 'job' : 'jobs'} of ${first[1]}`;
  return [head, ...others.map(([jobs, name]) => `${jobs} of ${name}`)].join(', ');
}
