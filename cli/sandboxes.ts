// What the doctor says of sandboxes: which can be had on this machine, and which plugins ask for one that cannot.
import type { PluginInstance } from '../config/config.ts';
import { limitsDefault, type Sandbox, sandboxFault } from '../runtime/host/sandbox.ts';

/** A line for each plugin that will not run here as it asks to. */
export async function refusedSandboxes(plugins: readonly PluginInstance[]): Promise<string[]> {
  const asked = plugins.flatMap(({ name, sandbox }) => (sandbox === undefined ? [] : [{ name, sandbox }]));
  const faults = await Promise.all(asked.map(({ sandbox }) => sandboxFault(sandbox)));
  return asked.flatMap(({ name, sandbox }, i) =>
    faults[i] === null ? [] : [`${name}: its sandbox "${sandbox.kind}" cannot be had here: ${faults[i]}`],
  );
}

/** Of both kinds, as they are tried with the limits that hold by default. */
export async function possibleSandboxes(): Promise<string> {
  const [limits, bwrap] = await Promise.all([possible('limits'), possible('bwrap')]);
  const lifted = process.getuid?.() === 0 ? ' (plugins of root may lift them)' : '';
  return `sandbox limits: ${limits}${limits === 'yes' ? lifted : ''}; bwrap: ${bwrap}`;
}

async function possible(kind: Sandbox['kind']): Promise<string> {
  const fault = await sandboxFault({ kind, limits: limitsDefault });
  return fault === null ? 'yes' : `no, ${fault}`;
}
