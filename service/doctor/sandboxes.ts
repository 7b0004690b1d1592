// What the doctor says of sandboxes: which can be had on this machine, and which plugins ask for one that cannot.
import type { PluginInstance } from '../../config/config.ts';
import { limitsDefault, type Sandbox, sandboxFault } from '../../runtime/processes/sandbox.ts';

/** A plugin that asks for a sandbox. */
export type AskedSandbox = { readonly name: string; readonly sandbox: Sandbox };

export type TriedSandboxes = {
  /** A line for each plugin that will not run here as it asks to. */
  readonly refused: readonly string[];
  readonly possible: string;
};

/** On the thread for reads: to start a process holds up the thread that does, by the size of the service. */
export async function trySandboxes(asked: readonly AskedSandbox[]): Promise<TriedSandboxes> {
  return { refused: await refusedSandboxes(asked), possible: await possibleSandboxes() };
}

export function askedSandboxes(plugins: readonly PluginInstance[]): AskedSandbox[] {
  return plugins.flatMap(({ name, sandbox }) => (sandbox === undefined ? [] : [{ name, sandbox }]));
}

async function refusedSandboxes(asked: readonly AskedSandbox[]): Promise<string[]> {
  const faults = await Promise.all(asked.map(({ sandbox }) => faultLately(sandbox)));
  return asked.flatMap(({ name, sandbox }, i) =>
    faults[i] === null ? [] : [`${name}: its sandbox "${sandbox.kind}" cannot be had here: ${faults[i]}`],
  );
}

/** For so long what was found holds: each try starts processes, and starting one holds up whoever does. */
const triedMs = 60_000;
/** By what was tried, and when. */
const tries = new Map<string, { readonly atMs: number; readonly fault: Promise<string | null> }>();

/** As `sandboxFault`, but tried once a minute. */
function faultLately(sandbox: Sandbox): Promise<string | null> {
  const name = JSON.stringify(sandbox);
  const nowMs = performance.now();
  for (const [other, { atMs }] of tries) if (nowMs - atMs >= triedMs) tries.delete(other);
  const known = tries.get(name);
  if (known) return known.fault;
  const fault = sandboxFault(sandbox);
  tries.set(name, { atMs: nowMs, fault });
  return fault;
}

/** Of both kinds, as they are tried with the limits that hold by default. */
async function possibleSandboxes(): Promise<string> {
  const [limits, bwrap] = await Promise.all([possible('limits'), possible('bwrap')]);
  const lifted = process.getuid?.() === 0 ? ' (plugins of root may lift them)' : '';
  return `sandbox limits: ${limits}${limits === 'yes' ? lifted : ''}; bwrap: ${bwrap}`;
}

async function possible(kind: Sandbox['kind']): Promise<string> {
  const fault = await faultLately({ kind, limits: limitsDefault });
  return fault === null ? 'yes' : `no, ${fault}`;
}
