// Replaces `${NAME}` and `${NAME:-default}` in scalars. This happens after parsing, so a variable can change a value,
// but never the structure. Integers beyond ±(2^53 − 1) are reported, because a number cannot hold every such integer
// exactly.
import type { Report } from '../check/problem.ts';
import { typedScalar } from './document.ts';
import type { MapEntry, NodePath, ScalarNode, SourceNode } from './tree.ts';

export type Environment = { readonly [name: string]: string | undefined };

const marks = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const reference = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;
// biome-ignore lint/suspicious/noTemplateCurlyInString: this is how variables are written
const rule = 'write ${NAME}, ${NAME:-default}, or $${ for a literal ${';

/** The text with its variables replaced. A default applies to a variable that is unset or empty. */
export function interpolate(text: string, env: Environment): { text: string; problems: string[] } {
  const problems: string[] = [];
  const replaced = text.replaceAll(marks, (mark, inner: string | undefined) => {
    if (mark === '$${') return '${';
    if (inner === undefined) {
      problems.push(`has \${ without a closing brace; ${rule}`);
      return '';
    }
    const [, name, fallback] = reference.exec(inner) ?? [];
    if (name === undefined) {
      problems.push(`has ${mark}, which is not a variable; ${rule}`);
      return '';
    }
    const value = Object.hasOwn(env, name) ? env[name] : undefined;
    if (fallback !== undefined) return value === undefined || value === '' ? fallback : value;
    if (value === undefined) {
      problems.push(`the environment variable ${name} is not set; set it, or give a default: \${${name}:-default}`);
    }
    return value ?? '';
  });
  return { text: replaced, problems };
}

/** The source tree with every scalar interpolated. Keys stay as they are. */
export function interpolateTree(node: SourceNode, env: Environment, report: Report, path: NodePath = []): SourceNode {
  if (node.kind === 'scalar') return interpolateScalar(node, env, report, path);
  if (node.kind === 'list') {
    return { ...node, items: node.items.map((item, index) => interpolateTree(item, env, report, [...path, index])) };
  }
  const entries = new Map<string, MapEntry>();
  for (const [key, entry] of node.entries) {
    entries.set(key, { ...entry, value: interpolateTree(entry.value, env, report, [...path, key]) });
  }
  return { ...node, entries };
}

function interpolateScalar(node: ScalarNode, env: Environment, report: Report, path: NodePath): ScalarNode {
  if (typeof node.value !== 'string' || !node.value.includes('${')) {
    if (isRounded(node.value, node.written)) report({ place: node.place, path, message: rounded });
    return node;
  }
  const { text, problems } = interpolate(node.value, env);
  for (const message of problems) report({ place: node.place, path, message, isCause: true });
  if (problems.length > 0) return { ...node, isUnresolved: true };
  const value = node.plain ? typedScalar(text) : text;
  if (isRounded(value, text)) report({ place: node.place, path, message: rounded });
  return { ...node, value };
}

const rounded = 'has more digits than a number can hold; put it in quotes';
/**
 * Matches integers, which are often ids and must not be rounded. Numbers with a point or an exponent are quantities, which may be rounded.
 */
const allDigits = /^[-+]?(\d+|0x[\da-f]+|0o[0-7]+)$/i;

/** Whether the text is an integer beyond ±(2^53 − 1), which the number `value` may not hold exactly. */
function isRounded(value: ScalarNode['value'], text: string): boolean {
  return typeof value === 'number' && !Number.isSafeInteger(value) && allDigits.test(text);
}
