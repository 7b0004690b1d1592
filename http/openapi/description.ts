// How documents describe a command: its description, and the members that both the skills and a plugin show.
import type { Command, PluginInstance } from '../../config/config.ts';
import { Type } from '../../runtime/schema-type.ts';

/** The description; a default if the manifest has none. */
export function commandDescription(plugin: Pick<PluginInstance, 'name'>, command: Command): string {
  const described = command.description?.trim() ?? '';
  return described === '' ? `${plugin.name}: ${command.name}` : described;
}

/** The schemas of the members of a command that are absent unless its manifest has them. */
export const optionalMembers = {
  input_schema: Type.Optional(
    Type.Object(
      {},
      { description: 'JSON Schema of the payload; the short form is expanded. Absent if there is none.' },
    ),
  ),
  output_schema: Type.Optional(
    Type.Object({}, { description: 'JSON Schema of the result, which is not enforced. Absent if there is none.' }),
  ),
  idempotent: Type.Optional(Type.Literal(true, { description: 'Running the command twice is harmless.' })),
};

export function optionalMembersOf({ inputSchema, outputSchema, idempotent }: Command): object {
  return {
    ...(inputSchema === null ? {} : { input_schema: inputSchema }),
    ...(outputSchema === null ? {} : { output_schema: outputSchema }),
    ...(idempotent && { idempotent }),
  };
}
