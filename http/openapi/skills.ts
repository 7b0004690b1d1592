// The skills index (docs/contract.md#discovery): every plugin command and pipeline.
import type { Config } from '../../config/config.ts';
import type { PipelineDefinition } from '../../config/pipeline/definition.ts';
import { commandDescription, optionalMembersOf } from './description.ts';

export function skillsOf(config: Config): object[] {
  const commands = Object.values(config.plugins).flatMap(plugin =>
    plugin.manifest.commands.map(command => ({
      name: `plugin.${plugin.name}.${command.name}`,
      kind: 'plugin',
      description: commandDescription(plugin, command),
      endpoint: `/plugin/${plugin.name}/${command.name}`,
      tier: command.type === 'read' ? 'READ' : 'WRITE',
      plugin: plugin.name,
      command: command.name,
      ...optionalMembersOf(command),
    })),
  );
  return [...commands, ...config.pipelines.map(pipelineSkill)];
}

function pipelineSkill(pipeline: PipelineDefinition): object {
  const { name, description, inputSchema, on, onHook, executionMode, timeoutMs } = pipeline;
  const trigger = on ?? onHook;
  return {
    name: `pipeline.${name}`,
    kind: 'pipeline',
    ...(description === undefined ? {} : { description }),
    endpoint: `/pipeline/${name}`,
    pipeline: name,
    ...(trigger === null ? {} : { trigger }),
    execution_mode: executionMode,
    timeout_secs: Math.ceil(timeoutMs / 1000),
    ...(inputSchema === undefined ? {} : { input_schema: inputSchema }),
  };
}
