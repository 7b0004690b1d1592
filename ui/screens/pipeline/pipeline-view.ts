// A pipeline, as in `GET /pipeline/{pipeline}`.
import type { DrawnPipeline } from '../../parts/pipeline.tsx';
import type { PayloadSchema } from '../../parts/run/payload-fields.ts';

export type PipelineView = DrawnPipeline & {
  readonly description?: string;
  readonly on?: string;
  readonly on_hook?: string;
  readonly execution_mode: 'synchronous' | 'asynchronous';
  readonly timeout_ms: number;
  readonly deadline_ms?: number;
  readonly input_schema?: PayloadSchema;
  readonly if?: string;
};
