// The description of a command in OpenAPI and skills documents, with a default if the manifest has none.
import type { Command, PluginInstance } from '../../config/config.ts';

export function commandDescription(plugin: Pick<PluginInstance, 'name'>, command: Command): string {
  const described = command.description?.trim() ?? '';
  return described === '' ? `${plugin.name}: ${command.name}` : described;
}
