// The settings that the service reads only when it starts: those that the schema marks with `restart`.
import type { JsonObject } from '../../runtime/packing.ts';
import { settingsSchema } from './settings.ts';

export type RestartSetting = {
  /** The key in a file: `service.max_workers`. */
  readonly key: string;
  /** The section and property in `Config`: `service`, `workersMax`. */
  readonly at: readonly [section: string, property: string];
  /** Whether only adding or removing the key needs a restart, while a changed value is live. */
  readonly isSwitch: boolean;
};

/** In the order of the schema. */
export const restartSettings: readonly RestartSetting[] = markedIn(settingsSchema, []);

function markedIn(schema: JsonObject, path: readonly string[]): RestartSetting[] {
  const mark = schema['restart'];
  if (typeof mark === 'string') {
    const [section, property] = mark.split('.');
    return [{ key: path.join('.'), at: [section!, property!], isSwitch: schema['restartToSwitch'] === true }];
  }
  const properties = Object.entries((schema['properties'] ?? {}) as { readonly [key: string]: JsonObject });
  return properties.flatMap(([key, inner]) => markedIn(inner, [...path, key]));
}
