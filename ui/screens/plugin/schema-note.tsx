// The schema of a payload, for people who want to read it.
import type { JSX } from 'preact';
import { Code } from '../../parts/index.ts';
import type { PayloadSchema } from '../../parts/run/payload-fields.ts';

export function SchemaNote({ schema }: { schema: PayloadSchema | undefined }): JSX.Element {
  if (schema === undefined) return <p class="muted">It has no input schema: any object is accepted as payload.</p>;
  return (
    <details class="run-more">
      <summary>Input schema</summary>
      <Code text={JSON.stringify(schema, null, 2)} label="Input schema" />
    </details>
  );
}
