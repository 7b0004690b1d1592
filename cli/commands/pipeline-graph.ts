// The command `headgate pipeline graph`, which prints pipelines of the configuration as Mermaid flowcharts.
import { command, configOption } from '../command.ts';
import { readConfiguration } from '../configuration.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';

export const pipelineGraph = command<{ readonly config?: string }>({
  usage: 'pipeline graph [pipeline]',
  description: 'print one pipeline of the configuration, or all of them, as Mermaid flowcharts',
  examples: ['headgate pipeline graph greet-all --config .'],
  options: [configOption()],
  async run({ options, args: [name], io, out }) {
    const { pipelines } = await readConfiguration(options.config, io);
    const wanted = pipelines.filter(pipeline => name === undefined || pipeline.name === name);
    if (name !== undefined && wanted.length === 0) {
      const known = pipelines.map(pipeline => pipeline.name).join(', ') || 'none';
      const detail = `there is no pipeline ${JSON.stringify(name)}; the configuration has: ${known}`;
      throw failure(exitStatus.notFound, 'unknown_pipeline', 'Unknown pipeline', detail);
    }
    const { mermaidOf } = await import('../terminal/mermaid.ts');
    const graphs = wanted.map(pipeline => ({ pipeline: pipeline.name, lines: mermaidOf(pipeline) }));
    const document = { pipelines: graphs.map(({ pipeline, lines }) => ({ pipeline, mermaid: lines.join('\n') })) };
    await out.answer(document, () => graphs.flatMap(({ lines }, i) => (i === 0 ? lines : ['', ...lines])));
  },
});
