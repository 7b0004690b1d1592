// Reads the sections `webhooks` and `tokens`. An entry of `tokens` is a named HMAC key, with which endpoints verify the
// signatures of their deliveries.
import { reportDuplicates } from '../check/duplicate.ts';
import { type Report, type ReportAt, reportIn } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import { type Config, instanceNamed, type WebhookEndpoint } from '../config.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { parseDuration, parseListen } from '../quantity.ts';
import { itemsOf, nodeAt, type SourceNode, textOf } from '../source/tree.ts';
import { readSize } from './api.ts';
import { readListen } from './listen.ts';
import { readProtection } from './tls.ts';
import { checkEvent, readEvent } from './webhook-event.ts';
import { isStandardKey, standardKeyBytes, standardKeyPrefix } from './webhook-key.ts';

const keyBytesMin = 16;
const toleranceDefaultMs = 300_000;
const standard = { signature: 'webhook-signature', timestamp: 'webhook-timestamp', id: 'webhook-id' };

export function readTokens(root: SourceNode, reportAt: ReportAt): Config['tokens'] {
  reportDuplicates(root, ['tokens'], 'name', 'the name of a token', reportAt);
  const keys: [string, string][] = [];
  for (const [index, item] of itemsOf(root, 'tokens').entries()) {
    const name = textOf(item, 'name');
    const key = textOf(item, 'key');
    if (name === undefined || key === undefined || key === '') continue;
    keys.push([name, key]);
    const bytes = (isStandardKey(key) ? standardKeyBytes(key) : Buffer.from(key)).length;
    if (bytes < keyBytesMin)
      reportAt(['tokens', index, 'key'], `has ${bytes} bytes; an HMAC key must have at least ${keyBytesMin}`);
  }
  return Object.fromEntries(keys);
}

export function readWebhooks(
  root: SourceNode,
  tokens: Config['tokens'],
  instances: Instances,
  report: Report,
): Config['webhooks'] {
  const list = nodeAt(root, 'webhooks', 'endpoints');
  const path = ['webhooks', 'endpoints'];
  const reportAt = reportIn(root, report);
  // The list includes the names of invalid pipelines, whose problems `readPipelines` reports.
  const pipelines = itemsOf(root, 'pipelines').flatMap(item => textOf(item, 'name') ?? []);
  reportDuplicates(root, path, 'name', 'the name of an endpoint', reportAt);
  reportDuplicates(root, path, 'path', 'the path of an endpoint', reportAt);
  const unresolved = itemsOf(root, 'tokens').flatMap(item => {
    const key = nodeAt(item, 'key');
    return key?.kind === 'scalar' && key.isUnresolved ? (textOf(item, 'name') ?? []) : [];
  });
  for (const [index, item] of itemsOf(list).entries()) {
    const at = [...path, index];
    const refuse: Refuse = (key, message, of) => reportAt([...at, key], message, of);
    checkPlugin(item, instances, report, refuse);
    checkPipeline(item, pipelines, refuse);
    checkEvent(item, at, signatureHeaderOf(item), reportAt);
    checkSecret(item, tokens, unresolved, refuse);
    checkHeaders(item, refuse);
  }
  return {
    listen: readListen(root, ['webhooks', 'listen'], reportAt) ?? parseListen('127.0.0.1:8081')!,
    ...readProtection(root, 'webhooks'),
    endpoints: itemsOf(list).map(readEndpoint),
  };
}

/** Reports a problem with a key of an endpoint. */
type Refuse = (key: string, message: string, at?: 'key') => void;

function checkPipeline(item: SourceNode, names: readonly string[], refuse: Refuse): void {
  const name = textOf(item, 'pipeline') ?? '';
  if (name === '' || names.includes(name)) return;
  refuse('pipeline', `there is no pipeline ${JSON.stringify(name)}${hint(name, names, 'pipelines')}`);
}

function checkPlugin(item: SourceNode, instances: Instances, report: Report, refuse: Refuse): void {
  const name = textOf(item, 'plugin');
  if (name === undefined) return;
  const shown = JSON.stringify(name);
  const instance = instanceNamed(instances, name);
  if (instance === undefined) {
    const unknown = `there is no plugin ${shown}${hint(name, Object.keys(instances.plugins), 'plugins')}`;
    refuse('plugin', reportUnusable(instances, name, report) ?? unknown);
  } else if (!instance.manifest.commands.some(command => command.name === 'handle'))
    refuse('plugin', `the plugin ${shown} has no command "handle"; a webhook requires that command`);
}

/** `unresolved`: the names of the tokens whose keys are unknown, because a variable is not set. */
function checkSecret(item: SourceNode, tokens: Config['tokens'], unresolved: readonly string[], refuse: Refuse): void {
  const name = textOf(item, 'secret_ref') ?? '';
  if (name === '' || unresolved.includes(name)) return;
  const shown = JSON.stringify(name);
  if (!Object.hasOwn(tokens, name)) {
    refuse('secret_ref', `there is no ${shown} in tokens${hint(name, Object.keys(tokens), 'tokens')}`);
  } else if (isStandard(item) && !isStandardKey(tokens[name]!)) {
    const wanted = `${standardKeyPrefix} followed by base64, as the scheme standard-webhooks requires`;
    refuse('secret_ref', `the key of ${shown} must be ${wanted}`);
  }
}

function checkHeaders(item: SourceNode, refuse: Refuse): void {
  if (item.kind !== 'map') return;
  const { entries } = item;
  if (isStandard(item)) {
    checkSignatureHeader(item, refuse);
    for (const key of ['timestamp_header', 'id_header'])
      if (entries.has(key)) refuse(key, 'is set by the scheme standard-webhooks; remove it', 'key');
  } else if (!entries.has('signature_header')) {
    refuse('signature_header', 'is missing; it must be the name of a header');
  } else if (entries.has('tolerance') && !entries.has('timestamp_header')) {
    refuse('tolerance', 'has no effect without timestamp_header; set both or remove it', 'key');
  }
}

/** With a scheme, `signature_header` may be left out. If it is set, it must be the header of the scheme. */
function checkSignatureHeader(item: SourceNode, refuse: Refuse): void {
  const name = textOf(item, 'signature_header');
  if (name === undefined || name.toLowerCase() === standard.signature) return;
  const rule = `the scheme standard-webhooks requires ${standard.signature}: write that, or remove the key`;
  refuse('signature_header', `is ${JSON.stringify(name)}; ${rule}`);
}

function isStandard(item: SourceNode): boolean {
  return textOf(item, 'scheme') === 'standard-webhooks';
}

function signatureHeaderOf(item: SourceNode): string {
  return isStandard(item) ? standard.signature : (textOf(item, 'signature_header') ?? '');
}

function readEndpoint(item: SourceNode): WebhookEndpoint {
  const isFixed = isStandard(item);
  const header = isFixed ? standard.timestamp : textOf(item, 'timestamp_header');
  const idHeader = isFixed ? standard.id : textOf(item, 'id_header');
  const toleranceMs = parseDuration(textOf(item, 'tolerance')) ?? toleranceDefaultMs;
  const pipeline = textOf(item, 'pipeline');
  return {
    name: textOf(item, 'name') ?? '',
    path: textOf(item, 'path') ?? '',
    ...(pipeline === undefined ? { plugin: textOf(item, 'plugin') ?? '' } : { pipeline }),
    secretRef: textOf(item, 'secret_ref') ?? '',
    signatureHeader: signatureHeaderOf(item),
    bodyBytesMax: readSize(nodeAt(item, 'max_body_size')),
    ...(isFixed ? { scheme: 'standard-webhooks' as const } : {}),
    ...(header === undefined ? {} : { timestamp: { header, toleranceMs } }),
    ...(idHeader === undefined ? {} : { idHeader }),
    ...(textOf(item, 'big_integers') === 'text' ? { bigIntegers: 'text' as const } : {}),
    ...readEvent(item),
  };
}
