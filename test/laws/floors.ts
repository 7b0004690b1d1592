// The laws of the source files: which file may import which, and what no file may contain. Each problem names file and rule.
import type { SourceFile } from './house.ts';
import { withoutTemplates } from './house.ts';

export type Problem = { readonly path: string; readonly rule: string };

/** From the top down: a floor imports only itself and what lies below it. */
const floors = ['cli', 'http', 'service', 'actors', 'config', 'runtime'];
/** Directories that may import every floor. Only test/ imports them. */
const visitors = ['bench', 'packaging', 'test', 'examples', 'ui'];
/** What an actor's folder may import from another actor's folder: messages, stored records, views, and numbers that any thread may read. */
const publicOfActors = /^actors\/[^/]+\/(protocol\.ts|gauges\.ts|records\/|views\/)/;

type Room = { readonly rule: string; readonly of: RegExp; readonly within: RegExp; readonly may: RegExp };
/** Files of a room (`of`) may import only certain files (`may`) of a part of the source (`within`). */
const rooms: readonly Room[] = [
  {
    rule: 'records import nothing but records and runtime/',
    of: /\/records\//,
    within: /^/,
    may: /^runtime\/|\/records\//,
  },
  {
    rule: 'views import no engine',
    of: /^actors\/.*\/views\//,
    within: /^actors\//,
    may: /\/(records|views)\/|\/protocol\.ts$/,
  },
  { rule: 'ui/ runs in the browser, and uses only the HTTP API', of: /^ui\//, within: /^/, may: /^ui\// },
  { rule: 'host/api/ stands alone', of: /^runtime\/host\/api\//, within: /^/, may: /^runtime\/host\/api\// },
  {
    rule: 'host/wire/ belongs to neither side',
    of: /^runtime\/host\/wire\//,
    within: /^runtime\/host\//,
    may: /^runtime\/host\/(wire|api)\//,
  },
  {
    rule: 'host/thread/ knows nothing of the threads and processes around it',
    of: /^runtime\/host\/thread\//,
    within: /^runtime\/host\//,
    may: /^runtime\/host\/(thread|wire|api)\//,
  },
  {
    rule: 'host/process/ starts threads, and knows nothing of the client',
    of: /^runtime\/host\/process\//,
    within: /^runtime\/host\/client\//,
    may: /^$/,
  },
  {
    rule: 'host/client/ starts host/process/main.ts, and knows nothing else of the other side',
    of: /^runtime\/host\/client\//,
    within: /^runtime\/host\//,
    may: /^runtime\/host\/(client\/|wire\/|process\/main\.ts$)/,
  },
];

/** Each of these packages is imported by one file only. */
const heavyPackages = ['lmdb', 'piscina', 'uWebSockets.js', 'yaml', 'pino', 're2js', 'msgpackr', 'koffi', 'croner'];
/** Packages that one file of each floor may import. */
const heavyPerFloor = ['ajv'];
/** Packages that only the command line may import. */
const cliPackages = ['commander'];

const vagueNames = /(^|[/-])(utils?|helpers?|managers?|types|common|misc)\.ts$/;
const linesMax = 400;
const machinePath = /(?<![\w.~])\/(work|root|home|Users)\/[\w.-]+/;
/** Code of the ledger thread, which gets the time as an argument, because `Date.now` goes back when the clock is set. */
const hasClock = /^(actors|service\/ledger)\//;
/** Files that may print: commands, or the code that takes over the output of plugins. */
const mayPrint = [/^(cli|bench|test)\//, /^runtime\/host\/process\/console\.ts$/];
/** Files that may consist of re-exports alone: the list of the parts of the dashboard's screens. */
const mayHandOn = [/^ui\/parts\/index\.ts$/];
/** Files that may have a default export, because tools load them. */
const mayDefault = [
  /^vitest(\.install)?\.config\.ts$/,
  /^test\/support\/build\.ts$/,
  /^runtime\/host\/thread\/thread\.ts$/,
];

/** Returns all problems. `dependencies`: packages that are installed with the product, or are part of its bundles. */
export function checkHouse(files: readonly SourceFile[], dependencies: readonly string[]): Problem[] {
  return [
    ...files.flatMap(file => checkPackages(file, dependencies).map(rule => ({ path: file.path, rule }))),
    ...files.flatMap(file => [...checkImports(file), ...checkText(file)].map(rule => ({ path: file.path, rule }))),
    ...checkHeavy(files),
    ...checkTypeNames(files),
    ...checkCycles(files),
  ];
}

function checkPackages({ path, packages }: SourceFile, dependencies: readonly string[]): string[] {
  if (!floors.includes(floorOf(path))) return [];
  return packages.filter(name => !dependencies.includes(name)).map(name => `imports ${name}: it is no dependency`);
}

function checkImports({ path, imports, packages }: SourceFile): string[] {
  const strays = packages.filter(name => cliPackages.includes(name) && floorOf(path) !== 'cli');
  const crossings = imports.flatMap(other => {
    const from = floorOf(path);
    const to = floorOf(other);
    const found: string[] = [];
    if (visitors.includes(to) && from !== to && from !== 'test') found.push(`imports ${other}: nobody imports ${to}/`);
    if (floors.includes(from) && floors.includes(to) && floors.indexOf(to) < floors.indexOf(from))
      found.push(`imports ${other}: ${from}/ lies below ${to}/`);
    const [mine, theirs] = [actorOf(path), actorOf(other)];
    if (mine && theirs && mine !== theirs && !publicOfActors.test(other))
      found.push(`imports ${other}: of another actor only protocol, gauges, records and views may be imported`);
    for (const { rule, of, within, may } of rooms)
      if (of.test(path) && within.test(other) && !may.test(other)) found.push(`imports ${other}: ${rule}`);
    return found;
  });
  return [...crossings, ...strays.map(name => `imports ${name}: only cli/ may`)];
}

function floorOf(path: string): string {
  return path.split('/')[0]!;
}

function actorOf(path: string): string | undefined {
  return /^actors\/([^/]+)\/[^/]/.exec(path)?.[1];
}

function checkText({ path, text }: SourceFile): string[] {
  const code = withoutTemplates(text).replaceAll(/^\s*(\/\/|\/?\*).*$/gm, '');
  const lines = text.replace(/\n$/, '').split('\n').length;
  const found: string[] = [];
  if (lines > linesMax) found.push(`has ${lines} lines: at most ${linesMax}`);
  if (vagueNames.test(path)) found.push('has a vague name: files are nouns of the domain');
  if (!opensWithPurpose(text)) found.push('does not open with a comment that says its purpose');
  if (isBarrel(code) && !allows(mayHandOn, path)) found.push('only hands on what others export: no barrels');
  if (/^export default\b/m.test(code) && !allows(mayDefault, path)) found.push('has a default export');
  if (/^\s*(export )?(declare )?(const )?enum \w+/m.test(code)) found.push('has an enum: use a constant list');
  if (/\bconsole\.\w+\(/.test(code) && !allows(mayPrint, path)) found.push('prints to the console');
  if (/\bDate\.now\b/.test(code) && hasClock.test(path)) found.push("reads a clock that can be set: use the ledger's");
  if (/\bparentPath\b/.test(code) && floors.includes(floorOf(path)))
    found.push('reads parentPath of a directory entry: Node has it from 20.12 only');
  const place = machinePath.exec(text);
  if (place) found.push(`names a path of one machine: ${place[0]}`);
  return found;
}

function allows(patterns: readonly RegExp[], path: string): boolean {
  return patterns.some(pattern => pattern.test(path));
}

/** Whether the file begins (after `#!`) with a comment that has a sentence. */
function opensWithPurpose(text: string): boolean {
  const [, comment] = /^(?:#!.*\n)?((?:\/\/ .*\n)+|\/\*\*[\s\S]*?\*\/)/.exec(text) ?? [];
  return comment !== undefined && /\w{2,}[\s\S]*[.:]/.test(comment);
}

function isBarrel(code: string): boolean {
  const rest = code.replaceAll(/^export\s+(?:type\s+)?(?:\*|\{[^}]*\})[^;'"]*from\s+['"][^'"]+['"];?/gm, '');
  return rest !== code && rest.trim() === '';
}

function checkHeavy(files: readonly SourceFile[]): Problem[] {
  const house = files.filter(({ path }) => floors.includes(floorOf(path)));
  return [...heavyPackages, ...heavyPerFloor].flatMap(name => {
    const users = house.filter(({ packages }) => packages.includes(name)).map(({ path }) => path);
    const places = heavyPerFloor.includes(name)
      ? floors.map(floor => users.filter(path => floorOf(path) === floor))
      : [users];
    return places.flatMap(([first, ...others]) =>
      others.map(path => ({ path, rule: `imports ${name}: only one file may, and ${first} does` })),
    );
  });
}

/** The API for plugin authors. It imports nothing from elsewhere, so its types may have the names of other types. */
const ownNames = /^runtime\/host\/api\//;

/** Reports exported types that have the same name. */
function checkTypeNames(files: readonly SourceFile[]): Problem[] {
  const homes = new Map<string, string>();
  const found: Problem[] = [];
  for (const { path, text } of files) {
    if (!floors.includes(floorOf(path)) || ownNames.test(path)) continue;
    for (const [, name] of withoutTemplates(text).matchAll(/^export (?:type|interface|(?:abstract )?class) (\w+)/gm)) {
      const home = homes.get(name!);
      if (home === undefined) homes.set(name!, path);
      else found.push({ path, rule: `exports a type ${name}: ${home} has one of that name` });
    }
  }
  return found;
}

/** Reports each cycle of imports once, with the files on it. */
function checkCycles(files: readonly SourceFile[]): Problem[] {
  const byPath = new Map(files.map(file => [file.path, file]));
  const done = new Set<string>();
  const found: Problem[] = [];

  function visit(path: string, way: readonly string[]): void {
    const at = way.indexOf(path);
    if (at >= 0) found.push({ path, rule: `is in a cycle of imports: ${[...way.slice(at), path].join(' > ')}` });
    if (at >= 0 || done.has(path)) return;
    for (const other of byPath.get(path)?.imports ?? []) visit(other, [...way, path]);
    done.add(path);
  }

  for (const { path } of files) visit(path, []);
  return found;
}

/** The problem as text. */
export function tell({ path, rule }: Problem): string {
  return `${path}: ${rule}`;
}
