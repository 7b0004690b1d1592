// Reads the `webhooks` section, and the keys in `tokens` that its endpoints use.
import { reportDuplicates } from '../check/duplicate.ts';
import { type Report, reportIn } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { Config, WebhookEndpoint } from '../config.ts';
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

export function readTokens(root: SourceNode, report: Report): Config['tokens'] {
  const list = nodeAt(root, 'tokens');
  reportDuplicates(list, ['tokens'], 'name', 'the name of a token', report);
  const keys: [string, string][] = [];
  for (const [index, item] of itemsOf(list).entries()) {
    const name = textOf(nodeAt(item, 'name'));
    const node = nodeAt(item, 'key');
    const key = textOf(node);
    if (node === undefined || name === undefined || key === undefined || key === '') continue;
    keys.push([name, key]);
    const bytes = (isStandardKey(key) ? standardKeyBytes(key) : Buffer.from(key)).length;
    if (bytes >= keyBytesMin) continue;
    const message = `has ${bytes} bytes; an HMAC key must have at least ${keyBytesMin}`;
    report({ place: node.place, path: ['tokens', index, 'key'], message });
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
  // All names, also of invalid pipelines: these are reported where they are defined.
  const pipelines = itemsOf(nodeAt(root, 'pipelines')).flatMap(item => textOf(nodeAt(item, 'name')) ?? []);
  reportDuplicates(list, path, 'name', 'the name of an endpoint', report);
  reportDuplicates(list, path, 'path', 'the path of an endpoint', report);
  for (const [index, item] of itemsOf(list).entries()) {
    const at = [...path, index];
    const refuse: Refuse = (key, message, of) => reportAt([...at, key], message, of);
    checkTarget(item, refuse);
    checkPlugin(item, instances, report, refuse);
    checkPipeline(item, pipelines, refuse);
    checkEvent(item, at, signatureHeaderOf(item), report);
    checkSecret(item, tokens, refuse);
    checkHeaders(item, refuse);
  }
  return {
    listen: readListen(root, ['webhooks', 'listen'], report) ?? parseListen('127.0.0.1:8081')!,
    ...readProtection(root, 'webhooks'),
    endpoints: itemsOf(list).map(readEndpoint),
  };
}

/** Reports what is wrong with a key of an endpoint. */
type Refuse = (key: string, message: string, at?: 'key') => void;

function checkTarget(item: SourceNode, refuse: Refuse): void {
  if (item.kind !== 'map') return;
  const { entries } = item;
  if (!entries.has('plugin') && !entries.has('pipeline'))
    refuse('plugin', 'is missing; an endpoint must have a "plugin" or a "pipeline" that receives its deliveries');
  else if (entries.has('plugin') && entries.has('pipeline')) {
    const message = 'cannot be combined with "plugin": only one of them receives the deliveries; remove the other';
    refuse('pipeline', message, 'key');
  }
}

function checkPipeline(item: SourceNode, names: readonly string[], refuse: Refuse): void {
  const name = textOf(nodeAt(item, 'pipeline')) ?? '';
  if (name === '' || names.includes(name)) return;
  refuse('pipeline', `there is no pipeline ${JSON.stringify(name)}${hint(name, names, 'pipelines')}`);
}

function checkPlugin(item: SourceNode, instances: Instances, report: Report, refuse: Refuse): void {
  const name = textOf(nodeAt(item, 'plugin'));
  if (name === undefined) return;
  const shown = JSON.stringify(name);
  const instance = Object.hasOwn(instances.plugins, name) ? instances.plugins[name] : undefined;
  if (instance === undefined) {
    const unknown = `there is no plugin ${shown}${hint(name, Object.keys(instances.plugins), 'plugins')}`;
    refuse('plugin', reportUnusable(instances, name, report) ?? unknown);
  } else if (!instance.manifest.commands.some(command => command.name === 'handle'))
    refuse('plugin', `the plugin ${shown} has no command "handle"; a webhook requires that command`);
}

function checkSecret(item: SourceNode, tokens: Config['tokens'], refuse: Refuse): void {
  const name = textOf(nodeAt(item, 'secret_ref')) ?? '';
  if (name === '') return;
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

/** With a scheme, `signature_header` may be left out; if it is there, it must be the header of the scheme. */
function checkSignatureHeader(item: SourceNode, refuse: Refuse): void {
  const name = textOf(nodeAt(item, 'signature_header'));
  if (name === undefined || name.toLowerCase() === standard.signature) return;
  const rule = `the scheme standard-webhooks requires ${standard.signature}: write that, or remove the key`;
  refuse('signature_header', `is ${JSON.stringify(name)}; ${rule}`);
}

function isStandard(item: SourceNode): boolean {
  return textOf(nodeAt(item, 'scheme')) === 'standard-webhooks';
}

function signatureHeaderOf(item: SourceNode): string {
  return isStandard(item) ? standard.signature : (textOf(nodeAt(item, 'signature_header')) ?? '');
}

function readEndpoint(item: SourceNode): WebhookEndpoint {
  const isFixed = isStandard(item);
  const header = isFixed ? standard.timestamp : textOf(nodeAt(item, 'timestamp_header'));
  const idHeader = isFixed ? standard.id : textOf(nodeAt(item, 'id_header'));
  const toleranceMs = parseDuration(textOf(nodeAt(item, 'tolerance'))) ?? toleranceDefaultMs;
  const pipeline = textOf(nodeAt(item, 'pipeline'));
  return {
    name: textOf(nodeAt(item, 'name')) ?? '',
    path: textOf(nodeAt(item, 'path')) ?? '',
    ...(pipeline === undefined ? { plugin: textOf(nodeAt(item, 'plugin')) ?? '' } : { pipeline }),
    secretRef: textOf(nodeAt(item, 'secret_ref')) ?? '',
    signatureHeader: signatureHeaderOf(item),
    bodyBytesMax: readSize(nodeAt(item, 'max_body_size')),
    ...(isFixed ? { scheme: 'standard-webhooks' as const } : {}),
    ...(header === undefined ? {} : { timestamp: { header, toleranceMs } }),
    ...(idHeader === undefined ? {} : { idHeader }),
    ...(textOf(nodeAt(item, 'big_integers')) === 'text' ? { bigIntegers: 'text' as const } : {}),
    ...readEvent(item),
  };
}
