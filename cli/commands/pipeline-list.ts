// `headgate pipeline list`.
import type { AddressOptions } from '../client/address.ts';
import { addressOptions, connect } from '../client/connect.ts';
import { command } from '../command.ts';
import { exitStatus } from '../exit-status.ts';
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

export const pipelineList = command<AddressOptions>({
  usage: 'pipeline list',
  description: 'list the pipelines of the service, the events that start them and what they do',
  examples: ['headgate pipeline list'],
  options: addressOptions(),
  async run(call) {
    const { skills } = await (await connect(call)).get<Skills>('/skills', { skills: ['kind'] });
    const pipelines = skills.filter(({ kind }) => kind === 'pipeline');
    await call.out.answer({ pipelines }, () =>
      table(
        ['PIPELINE', 'TRIGGER', 'MODE', 'TIMEOUT', 'DESCRIPTION'],
        pipelines.map(({ pipeline, trigger = '-', execution_mode: mode, timeout_secs: seconds, description = '-' }) => [
          pipeline,
          trigger,
          mode,
          `${seconds} s`,
          description,
        ]),
      ),
    );
    return exitStatus.ok;
  },
});
