// A webhook endpoint as a route: verifies the signature over the raw body, then reads the body, then submits one job or run
// (docs/contract.md#webhooks).
import { isDeepStrictEqual } from 'node:util';
import type { Refusal, RefusedWork } from '../../actors/job/protocol.ts';
import type { Config, WebhookEndpoint } from '../../config/config.ts';
import { formatId } from '../../runtime/ids.ts';
import { isObject } from '../../runtime/json-value.ts';
import { type JsonObject, pack } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import { deliveryKeyOf, isKeyText } from '../idempotency.ts';
import { type BigIntegers, readJsonBody } from '../json.ts';
import { checkPayload } from '../payload.ts';
import { type HttpProblem, isProblem, mismatchProblem, problem } from '../problem.ts';
import { refusalDetails, refusalProblem } from '../refusal.ts';
import { type Answer, type HttpCall, json, type Route, route } from '../route.ts';
import type { DeliveryEvents } from './delivery-events.ts';
import { eventOf } from './event.ts';
import { makeVerify } from './signature.ts';

const deliveryIdCharsMax = 255;

/** The command that receives deliveries, in the endpoint's plugin. */
const command = 'handle';
const accepted = Type.Object({ job_id: Type.String({ format: 'uuid' }), status: Type.Literal('queued') });

/** The route of an endpoint, which must be one of the endpoints of `config`. */
export function endpointRoute(endpoint: WebhookEndpoint, config: Config, deliveryEvents: DeliveryEvents): Route {
  const { name, path, bodyBytesMax } = endpoint;
  const verify = makeVerify(endpoint, config.tokens[endpoint.secretRef]!);
  const inputSchema = inputSchemaOf(endpoint, config);
  const submittedBy = `webhook:${name}`;

  /** Submits the job or run of a delivery whose signature is valid. Uses `bytes` only before the first await, because they are not valid later. */
  async function take(call: HttpCall, bytes: Uint8Array): Promise<Answer> {
    const body = readObject(call.header('content-type'), bytes, endpoint.bigIntegers ?? 'refuse');
    if (body.kind === 'problem') return body;
    const id = deliveryIdOf(endpoint, call);
    if (isProblem(id)) return id;
    const event = eventOf(endpoint, header => call.header(header), body.value);
    if (isProblem(event)) return event;
    const errors = checkPayload(config, inputSchema, body.value, '');
    if (errors.length > 0) return mismatchProblem('invalid_payload', errors);
    const work = {
      payload: pack(body.value),
      submittedBy,
      event,
      asker: call,
      ...(id !== null && { idempotency: deliveryKeyOf(name, id) }),
    };
    const { plugin, pipeline } = endpoint;
    const reply =
      pipeline === undefined
        ? await call.engine.submit({ ...work, plugin: plugin!, command })
        : await call.engine.startRun({ ...work, pipeline });
    if (reply.kind === 'refused') return refuse(reply, call.nowMs());
    call.submitted = reply.id;
    const jobId = formatId(reply.id);
    deliveryEvents.accepted(name, jobId);
    return json(202, `{"job_id":"${jobId}","status":"queued"}`);
  }

  return route({
    method: 'POST',
    path,
    section: 'Webhooks',
    summary: `Takes signed deliveries to ${name}.`,
    access: { kind: 'signed' },
    raw: { bytesMax: bodyBytesMax, setting: 'max_body_size of the endpoint' },
    answers: { 202: { description: 'The job is on disk.', schema: accepted } },
    handle(call) {
      if (hasChanged(endpoint, config, call.engine.config()))
        return problem('unavailable', 'the endpoint has changed: send the delivery again');
      const bytes = call.body as Uint8Array;
      const reason = verify(header => call.header(header), bytes, call.nowMs());
      return reason === null ? take(call, bytes) : problem('forbidden', 'this delivery is refused', { reason });
    },
    refused: refusal => deliveryEvents.rejected(name, refusal),
  });
}

/** Whether the endpoint or its key differ in a later configuration. The body of a delivery may arrive after a reload. */
function hasChanged(endpoint: WebhookEndpoint, config: Config, later: Config): boolean {
  if (later === config) return false;
  const other = later.webhooks.endpoints.find(({ path }) => path === endpoint.path);
  const { secretRef } = endpoint;
  return !isDeepStrictEqual(other, endpoint) || later.tokens[secretRef] !== config.tokens[secretRef];
}

function inputSchemaOf({ plugin, pipeline }: WebhookEndpoint, config: Config): JsonObject | null {
  if (pipeline !== undefined) return config.pipelines.find(({ name }) => name === pipeline)!.inputSchema ?? null;
  return config.plugins[plugin!]!.manifest.commands.find(({ name }) => name === command)!.inputSchema;
}

function readObject(
  contentType: string | undefined,
  bytes: Uint8Array,
  bigIntegers: BigIntegers,
): { readonly kind: 'object'; readonly value: JsonObject } | HttpProblem {
  const reading = readJsonBody(contentType, bytes, bigIntegers);
  if (reading.kind === 'problem') return reading;
  const { value } = reading;
  return isObject(value)
    ? { kind: 'object', value: value as JsonObject }
    : problem('invalid_request', 'the body must be a JSON object');
}

/** The id of a delivery; null if the endpoint has no id header. */
function deliveryIdOf({ idHeader }: WebhookEndpoint, call: HttpCall): string | HttpProblem | null {
  if (idHeader === undefined) return null;
  const text = call.header(idHeader.toLowerCase()) ?? '';
  if (isKeyText(text, deliveryIdCharsMax)) return text;
  const detail = `the header ${idHeader} must carry the id of the delivery, 1 to ${deliveryIdCharsMax} characters in UTF-8`;
  return problem('invalid_request', detail);
}

const passedOn = [
  'queue_full',
  'too_many_waiting',
  'paused',
  'disk_full',
  'stopping',
  'overloaded',
] as const satisfies readonly Refusal[];

/**
 * The answer to a refusal of the ledger. For the sender every refusal is temporary. A refusal that is not in `passedOn` becomes
 * `unavailable`, for example if a reload has just removed the plugin and with it the endpoint.
 */
function refuse(refused: RefusedWork, nowMs: number): HttpProblem {
  const refusal = passedOn.find(known => known === refused.refusal) ?? 'unavailable';
  return refusalProblem({ ...refused, refusal }, refusalDetails[refusal], nowMs);
}
