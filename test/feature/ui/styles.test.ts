// The styles of all screens are loaded together: no class may be styled by two screens.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const screens = fileURLToPath(new URL('../../../ui/screens', import.meta.url));

test('no class is styled by two screens', () => {
  const files = readdirSync(screens, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.css'));
  const ownerOf = new Map<string, string>();
  const shared: string[] = [];
  for (const file of files) {
    const text = readFileSync(join(screens, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '');
    // Rules whose selector is a single class.
    for (const [, name = ''] of text.matchAll(/^ *\.([a-z][\w-]*)\s*[,{]$/gm)) {
      const owner = ownerOf.get(name) ?? dirname(file);
      ownerOf.set(name, owner);
      if (owner !== dirname(file)) shared.push(`.${name}: ${owner}, ${dirname(file)}`);
    }
  }
  expect(ownerOf.size).toBeGreaterThan(100);
  expect(shared).toEqual([]);
});
