// `fact_outputs` of a ductile.plugin manifest: which commands answer with the whole of the plugin's state.
import type { Manifest } from '../config.ts';
import { itemsOf, nodeAt, type SourceNode, textOf } from '../source/tree.ts';

const wholeState = 'mirror_object';

/** Names of commands; a rule that names no view means the whole state too. */
export function replacingCommands(root: SourceNode, dialect: Manifest['dialect']): ReadonlySet<string> {
  if (dialect !== 'ductile') return new Set();
  const rules = itemsOf(nodeAt(root, 'fact_outputs')).filter(
    rule =>
      (textOf(nodeAt(rule, 'from')) ?? 'state_updates') === 'state_updates' &&
      (textOf(nodeAt(rule, 'compatibility_view')) ?? wholeState) === wholeState,
  );
  return new Set(rules.flatMap(rule => textOf(nodeAt(rule, 'when', 'command')) ?? []));
}
