// Reads `fact_outputs` of a ductile.plugin manifest: the commands whose response contains the plugin's whole state.
import type { Manifest } from '../config.ts';
import { itemsOf, type SourceNode, textOf } from '../source/tree.ts';

const wholeState = 'mirror_object';

/**
 * The names of the commands whose `state_updates` are the plugin's whole state and therefore replace the stored state. In an entry of
 * `fact_outputs`, `from` is `state_updates` by default, and `compatibility_view` is `mirror_object` by default.
 */
export function replacingCommands(root: SourceNode, dialect: Manifest['dialect']): ReadonlySet<string> {
  if (dialect !== 'ductile') return new Set();
  const rules = itemsOf(root, 'fact_outputs').filter(
    rule =>
      (textOf(rule, 'from') ?? 'state_updates') === 'state_updates' &&
      (textOf(rule, 'compatibility_view') ?? wholeState) === wholeState,
  );
  return new Set(rules.flatMap(rule => textOf(rule, 'when', 'command') ?? []));
}
