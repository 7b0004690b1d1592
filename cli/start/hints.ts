// The first things to try, printed once the service is up.
import { makeSchemaCompiler } from '../../runtime/json-schema.ts';
import type { Json, JsonObject } from '../../runtime/packing.ts';
import { sampleOf } from '../plugin-test/sample.ts';
import type { Started } from './start.ts';

/** The maximum length of the JSON of a sample payload. */
const sampleCharsMax = 1_000;

export function hints({ config, url, local }: Started): string[] {
  const { pipelines, plugins } = config();
  if (url === null) return ['headgate is up; its API is disabled'];
  const lines = [`headgate is up at ${url}`];
  if (local) {
    lines.push(local.made ? `created an API token in ${local.file}` : `the API token is in ${local.file}`);
    lines.push(`  export HEADGATE_TOKEN="$(cat ${local.file})"`);
  }
  const call = 'curl -s -H "Authorization: Bearer $HEADGATE_TOKEN"';
  const [pipeline] = pipelines;
  if (pipeline)
    lines.push('run a pipeline:', `  ${call} ${url}/pipeline/${pipeline.name} ${bodyFor(pipeline.inputSchema)}`);
  const plugin = Object.values(plugins)[0];
  const command = plugin?.manifest.commands[0];
  if (plugin && command) {
    const body = bodyFor(command.inputSchema);
    lines.push('call a plugin:', `  ${call} ${url}/plugin/${plugin.name}/${command.name} ${body}`);
  }
  lines.push('look at a job:', `  ${call} ${url}/job/<job_id>`, `  ${call} ${url}/job/<job_id>/tree`);
  return lines;
}

/** The arguments of curl for a call. */
function bodyFor(schema: JsonObject | null = null): string {
  const body = JSON.stringify({ payload: schema === null ? {} : payloadFor(schema) });
  return `-H 'Content-Type: application/json' -d '${body.replaceAll("'", `'\\''`)}'`;
}

/** An empty payload, or a sample if the schema accepts the sample alone and its text is short. */
function payloadFor(schema: JsonObject): Json {
  const compiled = makeSchemaCompiler()(schema);
  if (!compiled.ok || compiled.check({}).length === 0) return {};
  const sample = sampleOf(schema);
  return compiled.check(sample).length === 0 && JSON.stringify(sample).length <= sampleCharsMax ? sample : {};
}
