// Reads the `webhooks` section, and the keys in `tokens` that its endpoints use.
import { reportDuplicates } from '../check/duplicate.ts';
import type { Report } from '../check/problem.ts';
import { hint } from '../check/suggestion.ts';
import type { Config, WebhookEndpoint } from '../config.ts';
import { type Instances, reportUnusable } from '../plugin/instances.ts';
import { parseDuration, parseListen } from '../quantity.ts';
import type { NodePath } from '../source/tree.ts';
import { itemsOf, nodeAt, placesAt, type SourceNode, textOf } from '../source/tree.ts';
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
  // All names, also of invalid pipelines: these are reported where they are defined.
  const pipelines = itemsOf(nodeAt(root, 'pipelines')).flatMap(item => textOf(nodeAt(item, 'name')) ?? []);
  reportDuplicates(list, path, 'name', 'the name of an endpoint', report);
  reportDuplicates(list, path, 'path', 'the path of an endpoint', report);
  for (const [index, item] of itemsOf(list).entries()) {
    checkTarget(item, [...path, index], report);
    checkPlugin(item, [...path, index], instances, report);
    checkPipeline(item, [...path, index], pipelines, report);
    checkEvent(item, [...path, index], signatureHeaderOf(item), report);
    checkSecret(item, [...path, index], tokens, report);
    checkHeaders(item, [...path, index], report);
  }
  return {
    listen: readListen(root, ['webhooks', 'listen'], report) ?? parseListen('127.0.0.1:8081')!,
    ...readProtection(root, 'webhooks'),
    endpoints: itemsOf(list).map(readEndpoint),
  };
}

function checkTarget(item: SourceNode, path: NodePath, report: Report): void {
  if (item.kind !== 'map') return;
  const [plugin, pipeline] = [nodeAt(item, 'plugin'), nodeAt(item, 'pipeline')];
  if (plugin === undefined && pipeline === undefined) {
    const message = 'is missing; an endpoint must have a "plugin" or a "pipeline" that receives its deliveries';
    report({ place: item.place, path: [...path, 'plugin'], message });
  } else if (plugin !== undefined && pipeline !== undefined) {
    const message = 'cannot be combined with "plugin": only one of them receives the deliveries; remove the other';
    report({ place: placesAt(item, ['pipeline']).key, path: [...path, 'pipeline'], message });
  }
}

function checkPipeline(item: SourceNode, path: NodePath, names: readonly string[], report: Report): void {
  const node = nodeAt(item, 'pipeline');
  const name = textOf(node);
  if (node === undefined || name === undefined || name === '' || names.includes(name)) return;
  const message = `there is no pipeline ${JSON.stringify(name)}${hint(name, names, 'pipelines')}`;
  report({ place: node.place, path: [...path, 'pipeline'], message });
}

function checkPlugin(item: SourceNode, path: NodePath, instances: Instances, report: Report): void {
  const node = nodeAt(item, 'plugin');
  const name = textOf(node);
  if (node === undefined || name === undefined) return;
  const refuse = (message: string) => report({ place: node.place, path: [...path, 'plugin'], message });
  const shown = JSON.stringify(name);
  const instance = Object.hasOwn(instances.plugins, name) ? instances.plugins[name] : undefined;
  if (instance !== undefined) {
    if (instance.manifest.commands.some(command => command.name === 'handle')) return;
    refuse(`the plugin ${shown} has no command "handle"; a webhook requires that command`);
    return;
  }
  const known = hint(name, Object.keys(instances.plugins), 'plugins');
  refuse(reportUnusable(instances, name, report) ?? `there is no plugin ${shown}${known}`);
}

function checkSecret(item: SourceNode, path: NodePath, tokens: Config['tokens'], report: Report): void {
  const node = nodeAt(item, 'secret_ref');
  const name = textOf(node);
  if (node === undefined || name === undefined || name === '') return;
  const refuse = (message: string) => report({ place: node.place, path: [...path, 'secret_ref'], message });
  if (!Object.hasOwn(tokens, name)) {
    refuse(`there is no ${JSON.stringify(name)} in tokens${hint(name, Object.keys(tokens), 'tokens')}`);
  } else if (isStandard(item) && !isStandardKey(tokens[name]!)) {
    const wanted = `${standardKeyPrefix} followed by base64, as the scheme standard-webhooks requires`;
    refuse(`the key of ${JSON.stringify(name)} must be ${wanted}`);
  }
}

function checkHeaders(item: SourceNode, path: NodePath, report: Report): void {
  if (item.kind !== 'map') return;
  if (isStandard(item)) {
    checkSignatureHeader(item, path, report);
    for (const key of ['timestamp_header', 'id_header']) {
      if (nodeAt(item, key) === undefined) continue;
      const message = 'is set by the scheme standard-webhooks; remove it';
      report({ place: placesAt(item, [key]).key, path: [...path, key], message });
    }
  } else if (nodeAt(item, 'signature_header') === undefined) {
    const message = 'is missing; it must be the name of a header';
    report({ place: item.place, path: [...path, 'signature_header'], message });
  } else if (nodeAt(item, 'tolerance') !== undefined && nodeAt(item, 'timestamp_header') === undefined) {
    const message = 'has no effect without timestamp_header; set both or remove it';
    report({ place: placesAt(item, ['tolerance']).key, path: [...path, 'tolerance'], message });
  }
}

/** With a scheme, `signature_header` may be left out; if it is there, it must be the header of the scheme. */
function checkSignatureHeader(item: SourceNode, path: NodePath, report: Report): void {
  const node = nodeAt(item, 'signature_header');
  const name = textOf(node);
  if (node === undefined || name === undefined || name.toLowerCase() === standard.signature) return;
  const message = `is ${JSON.stringify(name)}; the scheme standard-webhooks requires ${standard.signature}: write that, or remove the key`;
  report({ place: node.place, path: [...path, 'signature_header'], message });
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
