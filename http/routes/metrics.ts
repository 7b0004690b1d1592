// The metrics, in the formats of Prometheus and OpenMetrics.
import { Type } from '../../runtime/schema-type.ts';
import { type MetricsFormat, metricsTypes } from '../../service/metrics/exposition.ts';
import { type Answer, anyOf, type Headers, type HttpCall, open, type Route, route } from '../route.ts';

const openMetricsType = 'application/openmetrics-text';

export const getMetrics = route({
  method: 'GET',
  path: '/metrics',
  section: 'Observation',
  summary: 'Returns the metrics of the service, as Prometheus and OpenMetrics define them.',
  access: anyOf('metrics:ro'),
  notes:
    `The format is that of Prometheus, version 0.0.4; a request whose \`Accept\` prefers \`${openMetricsType}\` gets OpenMetrics 1.0, which ` +
    'names a job for each bucket of a histogram. `metrics.listen` serves the same without a token, for this machine. docs/metrics.md has ' +
    'the metrics, a dashboard and alerts.',
  answers: { 200: { description: 'The metrics.', schema: Type.String(), types: ['text/plain', openMetricsType] } },
  handle: answerMetrics,
});

/** The route of the listener at `metrics.listen`. */
export const openMetricsRoute: Route = { ...getMetrics, access: open };

async function answerMetrics(call: HttpCall): Promise<Answer> {
  const format = formatFor(call.header('accept'));
  const body = await call.engine.metrics.text(format);
  const headers: Headers = [['Cache-Control', 'no-store']];
  return { kind: 'json', status: 200, body, contentType: metricsTypes[format], headers };
}

/** The format that the header `Accept` prefers: OpenMetrics if it is accepted with at least the quality of plain text, otherwise Prometheus. */
export function formatFor(accept: string | undefined): MetricsFormat {
  let openMetrics = 0;
  let plain = 0;
  for (const range of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map(part => part.trim());
    const quality = qualityIn(parameters);
    const version = parameters.find(parameter => parameter.startsWith('version='))?.slice('version='.length);
    if (type === openMetricsType && (version === undefined || /^"?1\./.test(version)))
      openMetrics = Math.max(openMetrics, quality);
    if (type === 'text/plain' || type === 'text/*' || type === '*/*') plain = Math.max(plain, quality);
  }
  return openMetrics > 0 && openMetrics >= plain ? 'openmetrics' : 'prometheus';
}

/** The `q` of a media range: 1 if it is missing, 0 if it is malformed. */
function qualityIn(parameters: readonly string[]): number {
  const text = parameters.find(parameter => parameter.startsWith('q='))?.slice(2);
  if (text === undefined) return 1;
  const quality = Number(text);
  return quality >= 0 && quality <= 1 ? quality : 0;
}
