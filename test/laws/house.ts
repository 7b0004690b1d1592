// The source files of the project as the laws see them: path, text, and imports.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

export type SourceFile = {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly text: string;
  /** The files of the project that this file imports, as paths from the root. */
  readonly imports: readonly string[];
  /** Names of imported packages, without paths inside them. */
  readonly packages: readonly string[];
};

export const sourceRoots = [
  'runtime',
  'config',
  'actors',
  'service',
  'http',
  'cli',
  'bench',
  'packaging',
  'ui',
  'test',
] as const;

/** Reads every .ts and .tsx file below the root's source directories. */
export function readHouse(root: string): SourceFile[] {
  return sourceRoots.flatMap(directory => {
    const entries = readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' });
    const paths = entries.map(entry => posix.join(directory, entry.replaceAll('\\', '/')));
    const sources = paths.filter(path => /\.tsx?$/.test(path) && !path.includes('node_modules/')).sort();
    return sources.map(path => sourceFile(path, readFileSync(join(root, path), 'utf8')));
  });
}

/** Patterns for the target of an import statement, a re-export, a dynamic import, or the start of a thread. */
const specifiers = [
  /^(?:import|export)\s[^'";]*?\sfrom\s+['"]([^'"]+)['"]/gm,
  /^import\s+['"]([^'"]+)['"]/gm,
  /\bimport\(\s*['"]([^'"]+)['"]\s*\)/g,
  /\bnew URL\(\s*['"]([^'"]+\.[jt]s)['"],\s*import\.meta\.url\s*\)/g,
];

export function sourceFile(path: string, text: string): SourceFile {
  const code = withoutTemplates(text);
  const named = specifiers.flatMap(pattern => [...code.matchAll(pattern)].map(match => match[1]!));
  const own = named.filter(name => name.startsWith('.'));
  const imports = own.map(name => posix.join(posix.dirname(path), name).replace(/\.js$/, '.ts'));
  const packages = named.filter(name => !/^(\.|node:)/.test(name)).map(packageOf);
  return { path, text, imports: [...new Set(imports)], packages: [...new Set(packages)] };
}

/** The text without the content of multi-line templates. They contain sources of plugins, to which the laws do not apply. */
export function withoutTemplates(text: string): string {
  return text.replaceAll(/`(?:[^`\\]|\\[\s\S])*?`/g, template => (template.includes('\n') ? '``' : template));
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
