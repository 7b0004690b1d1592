// The first things to try, printed once the service is up.
import type { Started } from './start.ts';

export function hints({ config, url, local }: Started): string[] {
  const { pipelines, plugins } = config();
  if (url === null) return ['headgate is up; its API is disabled'];
  const lines = [`headgate is up at ${url}`];
  if (local) {
    lines.push(local.made ? `created an API token in ${local.file}` : `the API token is in ${local.file}`);
    lines.push(`  export HEADGATE_TOKEN="$(cat ${local.file})"`);
  }
  const call = 'curl -s -H "Authorization: Bearer $HEADGATE_TOKEN"';
  const body = `-H 'Content-Type: application/json' -d '{"payload":{}}'`;
  const [pipeline] = pipelines;
  if (pipeline) lines.push('run a pipeline:', `  ${call} ${url}/pipeline/${pipeline.name} ${body}`);
  const plugin = Object.values(plugins)[0];
  const command = plugin?.manifest.commands[0];
  if (plugin && command) lines.push('call a plugin:', `  ${call} ${url}/plugin/${plugin.name}/${command.name} ${body}`);
  lines.push('look at a job:', `  ${call} ${url}/job/<job_id>`, `  ${call} ${url}/job/<job_id>/tree`);
  return lines;
}
