// The command `headgate pipeline list`, which lists the pipelines of the service.
import { clientCommand } from '../client/connect.ts';
import { table } from '../terminal/table.ts';

type Skill = {
  readonly kind: string;
  readonly pipeline: string;
  readonly description?: string;
  readonly trigger?: string;
  readonly execution_mode: string;
  readonly timeout_secs: number;
};

type Skills = { readonly skills: readonly Skill[] };

export const pipelineList = clientCommand({
  usage: 'pipeline list',
  description: 'list the pipelines of the service, with the events that start them and their descriptions',
  examples: ['headgate pipeline list'],
  async run({ client, out }) {
    const { skills } = await client.get<Skills>('/skills', { skills: ['kind'] });
    const pipelines = skills.filter(({ kind }) => kind === 'pipeline');
    const rows = pipelines.map(({ pipeline, trigger = '-', execution_mode: mode, timeout_secs, description = '-' }) => {
      return [pipeline, trigger, mode, `${timeout_secs} s`, description];
    });
    await out.answer({ pipelines }, () => table(['PIPELINE', 'TRIGGER', 'MODE', 'TIMEOUT', 'DESCRIPTION'], rows));
  },
});
