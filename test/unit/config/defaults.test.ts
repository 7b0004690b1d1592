// Each default in the description of a key is true: a file with this value is read like a file without the key.
import { describe, expect, test } from 'vitest';
import { parseTree } from '../../../config/source/document.ts';
import { plainValue } from '../../../config/source/tree.ts';
import type { Json } from '../../../runtime/packing.ts';
import { configKeys, type Key, manifestKeys } from './keys.ts';
import { loaded } from './sandbox.ts';

/** The value between the quotes of "Default: `…`.", as a file would have it. */
function defaultOf({ said }: Key): Json | undefined {
  const written = /Default: `([^`]+)`\.( |$)/.exec(said)?.[1];
  return written === undefined ? undefined : plainValue(parseTree('default', Buffer.from(written)).root!);
}

const withDefault = (keys: readonly Key[]) =>
  keys.flatMap(key => {
    const value = defaultOf(key);
    return value === undefined ? [] : [[key.name, value] as const];
  });

type Tree = { [key: string]: unknown };

/** The document with the value at the key, or without the key: `[]` is the last entry of a list, NAME the plugin `program`. */
function having(document: Tree, name: string, value: Json | undefined): Tree {
  const copy = structuredClone(document);
  const keys = name.replaceAll('[]', '.[]').split('.');
  const last = keys.pop()!;
  const place = keys.reduce<Tree>((at, key) => {
    if (Array.isArray(at) && key === '[]') return at.at(-1) as Tree;
    const word = key === 'NAME' ? 'program' : key;
    at[word] ??= {};
    return at[word] as Tree;
  }, copy);
  if (value === undefined) delete place[last];
  else place[last] = value;
  return copy;
}

const manifest: Tree = {
  manifest_spec: 'headgate.plugin',
  name: 'program',
  version: '1',
  protocol: 2,
  entrypoint: 'run.sh',
  commands: [{ name: 'poll' }, { name: 'handle', values: { emit: [{ event: 'a.b' }] } }],
  config_keys: {},
};

const config: Tree = {
  tokens: [{ name: 'key', key: 'sixteen bytes and more' }],
  api: { auth: { tokens: [{ token: 'a-token-of-this-test', scopes: ['*'] }] } },
  webhooks: {
    endpoints: [
      {
        name: 'hook',
        path: '/webhook/hook',
        plugin: 'program',
        secret_ref: 'key',
        signature_header: 'X-Signature',
        timestamp_header: 'X-Time',
      },
    ],
  },
  plugins: { program: { sandbox: 'limits', schedules: [{ every: '1h' }] } },
  schedules: [{ id: 's', plugin: 'program', cron: '0 0 * * *' }],
  pipelines: [
    {
      name: 'p',
      steps: [{ uses: 'program' }, { uses: 'program', join: 'all', foreach: 'payload.results' }],
      finally: [{ uses: 'program' }],
      if: { path: 'payload.a', op: 'exists' },
    },
  ],
};

function load(main: Tree, plugin: Tree) {
  const {
    mainFile: _,
    files: _files,
    pluginRoots: _roots,
    ...rest
  } = loaded({
    'config.yaml': JSON.stringify({ state: { path: '/nowhere' }, ...main }),
    'plugins/program/manifest.yaml': JSON.stringify(plugin),
    'plugins/program/run.sh*': '',
  });
  return JSON.parse(JSON.stringify(rest).replaceAll(/"[^"]*headgate-config-[^/"]*/g, '"~')) as object;
}

describe('a file that says what is the default changes nothing', () => {
  test.each(withDefault(configKeys))('config.yaml, %s: %j', (name, value) => {
    // If the key is a whole section, other sections of the example could depend on it, so the document is empty.
    const document = name.includes('.') ? config : {};
    expect(load(having(document, name, value), manifest)).toEqual(load(having(document, name, undefined), manifest));
  });

  test.each(withDefault(manifestKeys))('manifest.yaml, %s: %j', (name, value) => {
    expect(load({}, having(manifest, name, value))).toEqual(load({}, having(manifest, name, undefined)));
  });
});
