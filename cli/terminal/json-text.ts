// Formats JSON for people. A value that fits on one line is written on one line.

const lineMax = 110;
/** A value that is inside this many other values is written on one line, however long the line is. */
const depthMax = 32;

export function jsonText(value: unknown, indent = ''): string {
  const whole = JSON.stringify(value);
  if (indent.length + whole.length <= lineMax || typeof value !== 'object' || value === null) return whole;
  const inner = `${indent}  `;
  if (inner.length > 2 * depthMax) return whole;
  if (!Array.isArray(value)) {
    const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}: ${jsonText(field, inner)}`);
    return `{\n${inner}${fields.join(`,\n${inner}`)}\n${indent}}`;
  }
  const isFlat = value.every(item => typeof item !== 'object' || item === null);
  const items = isFlat ? filled(value, lineMax - inner.length) : value.map(item => jsonText(item, inner));
  return `[\n${inner}${items.join(`,\n${inner}`)}\n${indent}]`;
}

/** The items as lines, each with as many items as fit. */
function filled(items: readonly unknown[], width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const item of items) {
    const text = JSON.stringify(item);
    if (line !== '' && line.length + text.length + 3 > width) {
      lines.push(line);
      line = text;
    } else line = line === '' ? text : `${line}, ${text}`;
  }
  return [...lines, line];
}
