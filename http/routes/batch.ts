// Batches: many calls of one command or one pipeline in one request and one commit (docs/contract.md#batch).
import { pipelinePlugin } from '../../actors/job/records/job.ts';
import type { Config } from '../../config/config.ts';
import { idPrefix, indexOf, indexText, isOfBlock, jobIdBytes } from '../../runtime/ids.ts';
import type { JsonObject } from '../../runtime/packing.ts';
import { Type } from '../../runtime/schema-type.ts';
import type { Sliced } from '../../runtime/slices.ts';
import type { BatchSubmission } from '../../service/submissions.ts';
import { batchErrorsMax, batchPayloadsMax, inSlices, inTurns, readBatch } from '../batch.ts';
import { isNdjson } from '../head.ts';
import { idempotencyKeyOf } from '../idempotency.ts';
import { bodyOf, uuid } from '../openapi/schemas.ts';
import {
  checkOptions,
  ofRun,
  optionMembers,
  optionNames,
  optionParameters,
  type QueryOptions,
  queryOptions,
} from '../options.ts';
import { checkPayload } from '../payload.ts';
import { type HttpProblem, isProblem, problem } from '../problem.ts';
import { type Answer, anyOf, type HttpCall, type Route, route } from '../route.ts';
import {
  commandAccess,
  deadlineOf,
  eventOf,
  findCommand,
  findPipeline,
  idempotencyNotes,
  refuse,
  takingProblems,
} from './execution.ts';

const batchBody = bodyOf({
  payloads: Type.Array(Type.Object({}), {
    minItems: 1,
    maxItems: batchPayloadsMax,
    description: 'One for each job.',
  }),
  ...optionMembers,
});
const batchSchema = Type.Object({
  job_ids: Type.Array(uuid, { description: 'In the order of the payloads.' }),
  accepted: Type.Integer({ description: 'How many; fewer than the payloads if the queue became full.' }),
});

const notes =
  `The body is \`{"payloads": [ … ]}\`, with options beside \`payloads\`, or NDJSON with one payload a line ` +
  '(`Content-Type: application/x-ndjson`) and options as query parameters; options hold for all jobs. It has at most ' +
  `${batchPayloadsMax} payloads and \`api.batch_max_size\` bytes (16 MB by default), each payload at most \`api.max_body_size\`. All are ` +
  'checked before any is taken: 400 lists what is wrong in `errors`, each item with the `index` of its payload and a `pointer` into ' +
  `it, at most ${batchErrorsMax} items. Then all jobs are accepted in one commit. If the queue becomes full on the way, the first ` +
  `payloads are accepted and \`accepted\` says how many; if none fits, the answer is 503. ${idempotencyNotes}`;

/** What both routes have in common. */
const batchRoute = {
  method: 'POST',
  section: 'Execution',
  query: optionParameters,
  body: batchBody,
  batch: ({ api }: Config) => ({ bytesMax: api.batchBytesMax, setting: 'api.batch_max_size' }),
  holdsLate: true,
  notes,
  answers: { 202: { description: 'The jobs are on disk.', schema: batchSchema } },
} as const;

const pluginBatch = route({
  ...batchRoute,
  path: '/plugin/{plugin}/{command}/batch',
  summary: 'Runs one command of a plugin once for each payload.',
  access: commandAccess,
  problems: ['unknown_plugin', 'unknown_command', 'invalid_payload', ...takingProblems],
  find: ({ config, params, caller }) => findCommand(config, params.plugin, params.command, caller!),
  handle(call) {
    const { plugin, command } = call.found;
    const target = { plugin: plugin.name, command: command.name, event: eventOf(command) };
    return answerBatch(call, '/plugin/{plugin}/{command}/batch', command.inputSchema, target);
  },
});

const pipelineBatch = route({
  ...batchRoute,
  path: '/pipeline/{pipeline}/batch',
  summary: 'Runs a pipeline once for each payload, without waiting for the results.',
  access: anyOf('plugin:rw'),
  problems: ['unknown_pipeline', 'invalid_payload', ...takingProblems],
  find: ({ config, params }) => findPipeline(config, params.pipeline),
  handle(call) {
    const { name, inputSchema } = call.found;
    return answerBatch(call, '/pipeline/{pipeline}/batch', inputSchema ?? null, { pipeline: name });
  },
});

export const batchRoutes: readonly Route[] = [pluginBatch, pipelineBatch];

async function answerBatch(
  call: HttpCall<unknown, QueryOptions>,
  path: string,
  inputSchema: JsonObject | null,
  target: BatchSubmission['target'],
): Promise<Answer> {
  const reply = await inTurns(
    () => readSubmission(call, path, inputSchema, target),
    batch => {
      call.hold();
      return call.engine.submitAll(batch);
    },
  );
  if (isProblem(reply)) return reply;
  if (reply.kind === 'accepted') return { kind: 'json', status: 202, body: await inSlices(acceptedText(reply.ids)) };
  const [plugin, command] = 'pipeline' in target ? [pipelinePlugin, target.pipeline] : [target.plugin, target.command];
  return refuse(reply, plugin, command, call.nowMs());
}

async function readSubmission(
  call: HttpCall<unknown, QueryOptions>,
  path: string,
  inputSchema: JsonObject | null,
  target: BatchSubmission['target'],
): Promise<BatchSubmission | HttpProblem> {
  const { config } = call;
  const key = idempotencyKeyOf(call);
  if (isProblem(key)) return key;
  const contentType = call.header('content-type');
  const inQuery = queryOptions(call.query, call.nowMs());
  if (isProblem(inQuery)) return inQuery;
  if (inQuery && !isNdjson(contentType)) return problem('invalid_query', elsewhere);
  // The body is gone if the call was answered while it waited for earlier batches: its caller disconnected, or another body needed the memory.
  if (call.body === undefined) return problem('unavailable', 'the body was released');
  const batch = await readBatch(contentType, call.body as Buffer, {
    members: optionNames,
    payloadBytesMax: config.api.bodyBytesMax,
    check: payload => checkPayload(config, inputSchema, payload, ''),
    isHashed: key !== null,
    isGone: () => call.isGone,
  });
  call.releaseBody();
  if (isProblem(batch)) return batch;
  const { members } = batch;
  const given = inQuery ?? checkOptions(members, call.nowMs());
  const options = 'pipeline' in target ? ofRun(given, deadlineOf(config, target.pipeline)) : given;
  if (isProblem(options)) return options;
  const content = [Buffer.from(batch.hash).toString('hex'), ...(Object.keys(members).length > 0 ? [members] : [])];
  const idempotency = key?.(path, content);
  return {
    target,
    payloads: batch.payloads,
    submittedBy: call.caller!.origin,
    asker: call,
    ...(options && { options }),
    ...(idempotency && { idempotency }),
  };
}

const elsewhere = 'a JSON batch has its options beside "payloads"; only those of NDJSON are query parameters';

/** The number of ids that are written before the work may yield. */
const idsAtOnce = 256;

/** Encodes the answer as bytes, because a long string that is joined from many pieces would be costly to send. */
function* acceptedText(ids: Uint8Array): Sliced<Uint8Array> {
  const count = ids.length / jobIdBytes;
  const end = `],"accepted":${count}}`;
  const text = Buffer.allocUnsafe(idsStart.length + count * (idChars + 3) - 1 + end.length);
  let at = text.write(idsStart, 0, 'latin1');
  let prefix = '';
  for (let first = 0; first < count; first += idsAtOnce) {
    let some = '';
    for (let n = first; n < Math.min(first + idsAtOnce, count); n++) {
      const id = ids.subarray(n * jobIdBytes, (n + 1) * jobIdBytes);
      // All ids of a block have the same prefix. Most ids are in the same block as the preceding id.
      if (n === 0 || !isOfBlock(id, ids.subarray((n - 1) * jobIdBytes))) prefix = idPrefix(id);
      some += `${n === 0 ? '' : ','}"${prefix}${indexText(indexOf(id))}"`;
    }
    at += text.write(some, at, 'latin1');
    yield;
  }
  text.write(end, at, 'latin1');
  return text;
}
const idsStart = '{"job_ids":[';
const idChars = 36;
