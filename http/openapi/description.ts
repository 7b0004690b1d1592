// What is said of a command where its manifest says nothing.
import type { Command, PluginInstance } from '../../config/config.ts';

export function commandDescription(plugin: Pick<PluginInstance, 'name'>, command: Command): string {
  const described = command.description?.trim() ?? '';
  return described === '' ? `${plugin.name}: ${command.name}` : described;
}
