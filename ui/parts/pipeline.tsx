// A pipeline as boxes in boxes: a sequence runs from left to right (on narrow screens downwards), the branches of a split lie side by side.
import type { JSX } from 'preact';
import { count } from '../core/format.ts';

/** A step in the answer of GET /pipeline/{name}. */
export type DrawnStep = {
  readonly id: string;
  readonly kind: 'uses' | 'call' | 'split' | 'steps';
  /** With `uses`. */
  readonly plugin?: string;
  readonly command?: string;
  /** With `call`. */
  readonly pipeline?: string;
  /** With `split`. */
  readonly branches?: readonly { readonly name: string | null; readonly steps: readonly DrawnStep[] }[];
  /** With `steps`. */
  readonly steps?: readonly DrawnStep[];
  readonly foreach?: string;
  readonly join?: 'results' | 'counts';
  readonly if?: string;
  readonly on_error?: 'continue';
};

export type DrawnPipeline = {
  readonly name: string;
  readonly steps: readonly DrawnStep[];
  readonly on_failure?: readonly DrawnStep[];
  readonly finally?: readonly DrawnStep[];
};

export type DrawnCounts = {
  readonly queued: number;
  readonly running: number;
  readonly succeeded: number;
  /** Jobs that failed, timed out or died. */
  readonly failed: number;
  readonly cancelled: number;
};

export type PipelineDrawingProps = {
  readonly definition: DrawnPipeline;
  /** By the id of the step. A step without an entry has had no job. Absent: no counts are drawn. */
  readonly counts?: ReadonlyMap<string, DrawnCounts>;
  /** Whether the counts are being fetched. Room is kept for them, so that the drawing does not grow when they arrive. */
  readonly isCounting?: boolean;
  /** The link of a step. */
  readonly href?: (step: DrawnStep) => string | undefined;
};

export function PipelineDrawing({ definition, counts, isCounting, href }: PipelineDrawingProps): JSX.Element {
  const { name, steps, on_failure: onFailure, finally: last } = definition;
  const drawing = { counts, isCounting: isCounting ?? false, href };
  return (
    <section
      class="pipeline"
      aria-label={`The steps of ${name}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a drawing that scrolls must be reachable by keyboard
      tabIndex={0}
    >
      <Sequence steps={steps} {...drawing} />
      {onFailure && <Phase name="on_failure" meaning="runs if the run failed" steps={onFailure} {...drawing} />}
      {last && <Phase name="finally" meaning="always runs at the end" steps={last} {...drawing} />}
    </section>
  );
}

type Drawing = Pick<PipelineDrawingProps, 'counts' | 'href' | 'isCounting'>;

function Phase({
  name,
  meaning,
  steps,
  ...drawing
}: Drawing & { name: string; meaning: string; steps: readonly DrawnStep[] }) {
  return (
    <section class="pipeline-phase" aria-label={name}>
      <h3 class="pipeline-phase-name">
        {name} <span>{meaning}</span>
      </h3>
      <Sequence steps={steps} {...drawing} />
    </section>
  );
}

function Sequence({ steps, ...drawing }: Drawing & { steps: readonly DrawnStep[] }) {
  return (
    <ol class="pipeline-sequence">
      {steps.map(step => (
        <li key={step.id} class={step.join ? 'pipeline-place pipeline-join' : 'pipeline-place'}>
          {step.join && <span class="pipeline-join-name">join all{step.join === 'counts' && ', counts only'}</span>}
          <StepBox step={step} {...drawing} />
        </li>
      ))}
    </ol>
  );
}

function StepBox({ step, ...drawing }: Drawing & { step: DrawnStep }) {
  if (step.branches)
    return (
      <div class="pipeline-frame">
        <FrameHead kind="split" step={step} />
        <ul class="pipeline-branches">
          {step.branches.map(({ name, steps }, n) => (
            <li key={name ?? n} class="pipeline-branch">
              {name !== null && <span class="pipeline-branch-name">{name}</span>}
              <Sequence steps={steps} {...drawing} />
            </li>
          ))}
        </ul>
      </div>
    );
  if (step.steps)
    return (
      <div class="pipeline-frame">
        <FrameHead kind="steps" step={step} />
        <Sequence steps={step.steps} {...drawing} />
      </div>
    );
  return <WorkBox step={step} {...drawing} />;
}

function FrameHead({ kind, step }: { kind: string; step: DrawnStep }) {
  return (
    <div class="pipeline-frame-head">
      <span class="pipeline-kind">{kind}</span> {step.id}
      <Traits step={step} />
    </div>
  );
}

function WorkBox({ step, counts, isCounting, href }: Drawing & { step: DrawnStep }) {
  const target = href?.(step);
  const mine = counts?.get(step.id);
  const classes = [
    'pipeline-box',
    step.foreach && 'pipeline-each',
    step.kind === 'call' && 'pipeline-call',
    failing(mine),
  ];
  return (
    <div class={classes.filter(Boolean).join(' ')}>
      <div class="pipeline-box-name">{target ? <a href={target}>{step.id}</a> : step.id}</div>
      <div class="pipeline-box-work">
        {step.kind === 'call' ? `call ${step.pipeline}` : `${step.plugin}.${step.command}`}
      </div>
      <Traits step={step} />
      {counts ? <Counts counts={mine} /> : isCounting && <div class="pipeline-counts">…</div>}
    </div>
  );
}

function failing(counts: DrawnCounts | undefined): string | undefined {
  return counts && counts.failed > 0 ? 'pipeline-failing' : undefined;
}

function Traits({ step }: { step: DrawnStep }) {
  const traits = [
    step.foreach && `foreach ${step.foreach}`,
    step.if && `if ${step.if}`,
    step.on_error === 'continue' && 'on_error: continue',
  ].filter(Boolean);
  if (traits.length === 0) return null;
  return (
    <ul class="pipeline-traits">
      {traits.map(trait => (
        <li key={trait}>{trait}</li>
      ))}
    </ul>
  );
}

const countNames = [
  ['queued', '○', 'queued'],
  ['running', '◐', 'running'],
  ['succeeded', '✓', 'succeeded'],
  ['failed', '✕', 'failed'],
  ['cancelled', '⊘', 'cancelled'],
] as const;

function Counts({ counts }: { counts: DrawnCounts | undefined }) {
  const shown = countNames.filter(([name]) => counts !== undefined && counts[name] > 0);
  if (shown.length === 0) return <div class="pipeline-counts pipeline-none">no job</div>;
  return (
    <ul class="pipeline-counts">
      {shown.map(([name, symbol, word]) => (
        <li key={name} class={`pipeline-count-${name}`}>
          <span aria-hidden="true">{symbol}</span> {count(counts![name])} {word}
        </li>
      ))}
    </ul>
  );
}
