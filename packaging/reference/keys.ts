// Generates docs/config-keys.md and docs/manifest-keys.md, which list every key of config.yaml and manifest.yaml, from the schemas of these
// files.

import { pipelineDefinitions } from '../../config/pipeline/schema.ts';
import { manifestSchema } from '../../config/plugin/manifest-schema.ts';
import { restartSettings } from '../../config/section/restart.ts';
import { settingsSchema } from '../../config/section/settings.ts';
import type { JsonObject } from '../../runtime/packing.ts';

type Schemas = { readonly [key: string]: JsonObject };

/** The description of one map of settings. `title`: the position of the map in the file. `required`: the keys that the map must have. */
export type ReferenceSection = {
  readonly title: string;
  readonly about: string;
  readonly keys: Schemas;
  readonly required: readonly string[];
};

const generated = '<!-- Generated from the JSON Schemas by "npm run reference". -->';

const configPreface = `# The keys of config.yaml

${generated}

[configuration.md](configuration.md) describes how files are found, included and read. Durations are \`250ms\`, \`30s\`, \`5m\`, \`24h\` or \`7d\`; sizes
are \`512KB\`, \`1MB\` or \`1GB\`, in powers of 1024, or a number of bytes. Writing a default value that is shown as \`code\` changes nothing. A
reload applies a changed key, unless the key is marked "restart". \`NAME\` stands for a name that you choose, and \`[]\` for an entry of a
list.
`;

const manifestPreface = `# The keys of manifest.yaml

${generated}

[plugins.md](plugins.md) has working manifests. Writing a default value that is shown as \`code\` changes nothing. \`[]\` stands for an entry of a
list. Manifests with \`manifest_spec: ductile.plugin\` may have further keys, and lack \`runtime\`, \`mode\`, \`max_jobs\` and \`max_age\`.
`;

export function configKeysPage(): string {
  return [configPreface, ...configSections().map(sectionText)].join('\n');
}

export function configSections(): ReferenceSection[] {
  const { pipeline, step, condition } = pipelineDefinitions;
  return [
    ...sectionsOf(settingsSchema, ''),
    sectionOf('pipelines[]', 'A pipeline. [pipelines.md](pipelines.md) describes how it runs.', pipeline),
    sectionOf('pipelines[].steps[]', String(step['description']), step),
    sectionOf('pipelines[].if', String(condition['description']), condition),
  ];
}

export function manifestKeysPage(): string {
  return [manifestPreface, ...sectionsOf(manifestSchema, '').map(sectionText)].join('\n');
}

/** The sections for the map at position `at` and for all maps of settings below it, in the order of the schema. */
export function sectionsOf(schema: JsonObject, at: string): ReferenceSection[] {
  if (schema['items'] !== undefined) return sectionsOf(schema['items'] as JsonObject, `${at}[]`);
  if (isSchema(schema['additionalProperties'])) return sectionsOf(schema['additionalProperties'], `${at}.NAME`);
  if (schema['additionalProperties'] !== false) return [];
  const { keys } = sectionOf(at, '', schema);
  const inner = Object.entries(keys).flatMap(([key, value]) => sectionsOf(value, at === '' ? key : `${at}.${key}`));
  return [sectionOf(at, String(schema['description']), schema), ...inner];
}

function sectionOf(title: string, about: string, { properties, required = [] }: JsonObject): ReferenceSection {
  return { title, about, keys: properties as Schemas, required: required as readonly string[] };
}

function sectionText({ title, about, keys, required }: ReferenceSection): string {
  const rows = Object.entries(keys).map(([key, schema]) => {
    const marks = [...(required.includes(key) ? ['required'] : []), ...restartOf(`${title}.${key}`)];
    const value = [shownValue(schema), ...marks].join('; ');
    return `| \`${key}\` | ${cell(value)} | ${cell(String(schema['description']))} |`;
  });
  const heading = title === '' ? '## The whole file' : `## ${title}`;
  return [heading, '', about, '', '| key | value | meaning |', '| --- | --- | --- |', ...rows, ''].join('\n');
}

function restartOf(key: string): string[] {
  const found = restartSettings.filter(setting => setting.key === key);
  return found.map(({ isSwitch }) => (isSwitch ? 'restart to switch it on or off' : 'restart'));
}

function shownValue(schema: JsonObject): string {
  const { expected, enum: values, type, minimum, maximum, $ref } = schema;
  if (typeof expected === 'string') return `${expected}${entriesOf(schema)}`;
  if (Array.isArray(values)) return values.length === 1 ? String(values[0]) : `one of ${values.join(', ')}`;
  if ($ref === '#/definitions/condition') return 'a condition';
  if (type === 'integer') return `a whole number from ${minimum} to ${maximum}`;
  if (type === 'string') return 'a string';
  if (type === 'array') return 'a list';
  return type === 'object' ? 'a map' : 'a value';
}

/** Names the type of the entries, if `expected` says only that the value is a list or a map. Otherwise returns an empty text. */
function entriesOf({ expected, items, additionalProperties: values }: JsonObject): string {
  const inner = isSchema(items) ? items : isSchema(values) ? values : null;
  if (inner?.['expected'] === undefined || inner['additionalProperties'] === false) return '';
  if (expected !== 'a list' && expected !== 'a map') return '';
  return `; each ${isSchema(items) ? 'entry' : 'value'} is ${inner['expected']}`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function isSchema(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}
