// The pipeline of a run, drawn with the counts of its steps.
import type { JSX } from 'preact';
import { useResource } from '../../core/resource.ts';
import { Problem, Section } from '../../parts/index.ts';
import { type DrawnCounts, type DrawnPipeline, PipelineDrawing } from '../../parts/pipeline.tsx';
import { failuresIn, type RunTimeline } from './timeline.ts';

export function RunPipeline({ timeline }: { timeline: RunTimeline }): JSX.Element | null {
  const isRun = timeline.plugin === 'pipeline';
  const pipeline = useResource<DrawnPipeline>(isRun ? `/pipeline/${encodeURIComponent(timeline.command)}` : null);
  if (!isRun) return null;
  return (
    <Section title="Pipeline" note="as it is configured now; a run keeps the definition with which it began">
      {pipeline.error &&
        !pipeline.data &&
        (pipeline.error.status === 404 ? (
          <p class="muted">The pipeline is no longer configured.</p>
        ) : (
          <Problem error={pipeline.error} />
        ))}
      {pipeline.data && <PipelineDrawing definition={pipeline.data} counts={drawnCounts(timeline)} />}
    </Section>
  );
}

function drawnCounts({ steps, command }: RunTimeline): Map<string, DrawnCounts> {
  const counts = new Map<string, DrawnCounts>();
  for (const step of steps) {
    if (step.pipeline !== command || step.step === null) continue;
    const { queued = 0, running = 0, succeeded = 0, cancelled = 0 } = step.by_status;
    counts.set(step.step, { queued, running, succeeded, cancelled, failed: failuresIn(step) });
  }
  return counts;
}
