// Prints a JSON Schema for readers of docs/reference.md, as the shape of the value with one field per line.
import type { Json, JsonObject } from '../../runtime/packing.ts';

/** Lines without a newline at the end; nested values are indented. */
export function shapeOf(schema: JsonObject): string {
  return render(schema, '');
}

function render(schema: JsonObject, indent: string): string {
  const alternatives = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(alternatives)) return union(alternatives.map((one: Json) => render(one as JsonObject, indent)));
  if ('const' in schema) return JSON.stringify(schema['const']);
  if (Array.isArray(schema['enum'])) return union(schema['enum'].map((value: Json) => JSON.stringify(value)));
  const { type } = schema;
  if (Array.isArray(type)) return union(type.map((one: Json) => render({ ...schema, type: one }, indent)));
  switch (type) {
    case 'object':
      return object(schema, indent);
    case 'array': {
      const items = render((schema['items'] ?? {}) as JsonObject, indent);
      return items.includes(' | ') && !items.startsWith('{') ? `(${items})[]` : `${items}[]`;
    }
    case undefined:
      return 'any';
    default:
      return plain(String(type), schema);
  }
}

function union(alternatives: readonly string[]): string {
  return [...new Set(alternatives)].join(' | ');
}

function object(schema: JsonObject, indent: string): string {
  const properties = Object.entries((schema['properties'] ?? {}) as { readonly [name: string]: JsonObject });
  const values = schema['additionalProperties'] ?? Object.values((schema['patternProperties'] ?? {}) as JsonObject)[0];
  const inner = `${indent}  `;
  const required = (schema['required'] ?? []) as readonly string[];
  const lines = properties.map(([name, property]) => {
    const { description } = property;
    const note = typeof description === 'string' ? `  // ${description.replace(/\s+/g, ' ')}` : '';
    return `${inner}${name}${required.includes(name) ? '' : '?'}: ${withNote(render(property, inner), note)}`;
  });
  if (typeof values === 'object') lines.push(`${inner}[name]: ${render(values as JsonObject, inner)}`);
  return lines.length === 0 ? 'object' : `{\n${lines.join('\n')}\n${indent}}`;
}

/** Appends the note to the first line of `rendered`. */
function withNote(rendered: string, note: string): string {
  return rendered.includes('\n') ? rendered.replace('\n', `${note}\n`) : rendered + note;
}

function plain(type: string, schema: JsonObject): string {
  const { format, minimum, maximum, maxLength } = schema;
  const limits = [
    format,
    minimum === undefined ? undefined : `from ${minimum}`,
    maximum === undefined ? undefined : `to ${maximum}`,
    maxLength === undefined ? undefined : `at most ${maxLength} characters`,
  ].filter(limit => limit !== undefined);
  return limits.length === 0 ? type : `${type} (${limits.join(' ')})`;
}
