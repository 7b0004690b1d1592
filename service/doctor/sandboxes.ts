// The doctor's check of sandboxes: which kinds this machine supports, and which plugins need a sandbox that the machine cannot
// provide.
import type { PluginInstance } from '../../config/config.ts';
import { limitsDefault, type Sandbox, sandboxFault } from '../../runtime/processes/sandbox.ts';

export type SandboxedPlugin = { readonly name: string; readonly sandbox: Sandbox };

export type SandboxCheck = {
  /** One line for each plugin whose sandbox this machine cannot provide. */
  readonly refused: readonly string[];
  readonly possible: string;
};

/** Must be called on the reads thread, because starting a process blocks the thread that starts it. */
export async function trySandboxes(asked: readonly SandboxedPlugin[]): Promise<SandboxCheck> {
  return { refused: await refusedSandboxes(asked), possible: await possibleSandboxes() };
}

export function askedSandboxes(plugins: readonly PluginInstance[]): SandboxedPlugin[] {
  return plugins.flatMap(({ name, sandbox }) => (sandbox === undefined ? [] : [{ name, sandbox }]));
}

async function refusedSandboxes(asked: readonly SandboxedPlugin[]): Promise<string[]> {
  const faults = await Promise.all(asked.map(({ sandbox }) => faultLately(sandbox)));
  return asked.flatMap(({ name, sandbox }, i) =>
    faults[i] === null ? [] : [`${name}: its sandbox "${sandbox.kind}" is unavailable: ${faults[i]}`],
  );
}

/** How long a result is cached. Without the cache, each check would start processes again. */
const triedMs = 60_000;
/** The cached results, by sandbox. */
const tries = new Map<string, { readonly atMs: number; readonly fault: Promise<string | null> }>();

/** Returns the result of `sandboxFault`, from the cache if the cache has it. */
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

/** Says, as text, which kinds of sandboxes this machine can provide with the default limits. */
async function possibleSandboxes(): Promise<string> {
  const [limits, bwrap] = await Promise.all([possible('limits'), possible('bwrap')]);
  const lifted = process.getuid?.() === 0 ? ' (plugins that run as root can lift them)' : '';
  return `sandbox limits: ${limits}${limits === 'yes' ? lifted : ''}; bwrap: ${bwrap}`;
}

async function possible(kind: Sandbox['kind']): Promise<string> {
  const fault = await faultLately({ kind, limits: limitsDefault });
  return fault === null ? 'yes' : `no, ${fault}`;
}
