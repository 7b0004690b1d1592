// The blocks of docs/plugins.md: files, commands and what they print, in the order of the page.
import { readFileSync } from 'node:fs';

export type Block = { readonly language: string; readonly name: string; readonly text: string };

export function blocksOf(page: URL): Block[] {
  const text = readFileSync(page, 'utf8');
  return [...text.matchAll(/^```(\w+) ?(\S*)\n([\s\S]*?)^```$/gm)].map(([, language = '', name = '', body = '']) => ({
    language,
    name,
    text: body,
  }));
}
