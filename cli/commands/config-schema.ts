// The command `headgate config schema`, which prints the JSON Schema of configuration files or manifests.
import { Option } from 'commander';
import { command } from '../command.ts';

export const configSchemaCommand = command<{ readonly manifest?: true }>({
  usage: 'config schema',
  description: 'print the JSON Schema of configuration files, for editors; always JSON',
  examples: ['headgate config schema > headgate.schema.json', 'headgate config schema --manifest'],
  options: [new Option('--manifest', "print the schema of a plugin's manifest.yaml instead")],
  async run({ options, out }) {
    const { configSchema, manifestFileSchema } = await import('../../config/schema-files.ts');
    const schema = options.manifest ? manifestFileSchema() : configSchema();
    await out.answer(schema, () => JSON.stringify(schema, null, 2).split('\n'));
  },
});
