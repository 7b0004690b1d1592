// How long the jobs of a command have waited and run in the last 24 hours.
import type { JSX } from 'preact';
import { count } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { Duration, Empty, Loading, Problem, Section, Spark, Table } from '../../parts/index.ts';

type StepTimes = {
  readonly step: string;
  readonly sample_count: number;
  readonly p50_us: number;
  readonly p95_us: number;
  readonly p99_us: number;
  readonly max_us: number;
  readonly trend_p95_ms: readonly number[];
};

export function CommandTimes({ plugin, command }: { plugin: string; command: string }): JSX.Element {
  const path = `/stopwatch/${encodeURIComponent(plugin)}`;
  const { data, error, reload } = useResource<{ steps: readonly StepTimes[] }>(path, {
    live: ['job.*'],
    everyMs: 15_000,
  });
  // The name of a step of a pipeline (`pipeline/step`) does not say which command of the plugin the step uses, so all such steps are shown.
  const own =
    data?.steps.filter(
      ({ step, sample_count }) => sample_count > 0 && (step.startsWith(`${command}.`) || step.includes('/')),
    ) ?? [];
  return (
    <Section
      title="Durations"
      note="last 24 hours"
      actions={<a href={href('stopwatch', plugin)}>Over time, and compared</a>}
    >
      {error && <Problem error={error} retry={reload} />}
      {data === undefined ? (
        !error && <Loading />
      ) : (
        <Table
          label="Durations"
          rows={own}
          rowKey={({ step }) => step}
          empty={<Empty title="Nothing was measured">Run the command: its times appear here.</Empty>}
          columns={[
            { name: 'What', render: ({ step }) => <What text={meaningOf(step, command)} /> },
            { name: 'Samples', align: 'right', hideBelow: 768, render: ({ sample_count }) => count(sample_count) },
            { name: 'p50', align: 'right', render: ({ p50_us }) => <Duration us={p50_us} /> },
            { name: 'p95', align: 'right', render: ({ p95_us }) => <Duration us={p95_us} /> },
            { name: 'p99', align: 'right', hideBelow: 768, render: ({ p99_us }) => <Duration us={p99_us} /> },
            { name: 'Longest', align: 'right', hideBelow: 768, render: ({ max_us }) => <Duration us={max_us} /> },
            {
              name: 'p95 over time',
              width: '180px',
              hideBelow: 1024,
              render: ({ step, trend_p95_ms }) => (
                <Spark values={trend_p95_ms} label={`p95 of ${step} in ms`} height={28} />
              ),
            },
          ]}
        />
      )}
    </Section>
  );
}

function What({ text }: { text: string }): JSX.Element {
  return (
    <span class="times-what" title={text}>
      {text}
    </span>
  );
}

const meanings: Readonly<Record<string, string>> = {
  run: 'ran, each attempt',
  queue: 'waited in the queue',
  waited: 'waited for its time, or for the end of a pause',
  total: 'from acceptance to the end',
};

function meaningOf(step: string, command: string): string {
  if (step.includes('/')) return `ran, in the step ${step}`;
  return meanings[step.slice(command.length + 1)] ?? step;
}
