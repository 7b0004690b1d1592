// The keys of config.yaml and manifest.yaml, with their descriptions, from the schemas.
import { manifestSchema } from '../../../config/plugin/manifest-schema.ts';
import { configSections, type ReferenceSection, sectionsOf } from '../../../packaging/reference/keys.ts';

export type Key = {
  readonly name: string;
  readonly said: string;
  readonly kind: 'required' | 'map' | 'optional';
};

/** One of the first four is required in each step, one of the others in each condition (`op` together with `path`). */
const choices = [
  ...['uses', 'call', 'split', 'steps'].map(key => `pipelines[].steps[].${key}`),
  ...['path', 'op', 'all', 'any', 'not'].map(key => `pipelines[].if.${key}`),
];

function keysIn(sections: readonly ReferenceSection[]): Key[] {
  return sections.flatMap(({ title, keys, required }) =>
    Object.entries(keys).map(([key, schema]) => {
      const name = title === '' ? key : `${title}.${key}`;
      const isRequired = required.includes(key) || choices.includes(name);
      const kind = isRequired ? 'required' : schema['additionalProperties'] === false ? 'map' : 'optional';
      return { name, said: String(schema['description']), kind };
    }),
  );
}

export const configKeys = keysIn(configSections());
export const manifestKeys = keysIn(sectionsOf(manifestSchema, ''));
