// Changes to a sealed configuration that its owner did not make: with `strict_mode`, loading refuses them; otherwise it warns.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { accept } from '../../../config/seal/acceptance.ts';
import { edit, load, locked, makeSealed, makeUnsealed, type Sealed, write } from './sealed.ts';

type Attack = readonly [what: string, attack: (sealed: Sealed) => void, findings: readonly string[]];

const at = ({ directory }: Sealed, name: string) => join(directory, name);
const replaceByLink = (sealed: Sealed, name: string, target: string) => {
  rmSync(at(sealed, name), { recursive: true });
  symlinkSync(target, at(sealed, name));
};
const wrongCode = '~/.headgate.lock was changed, or locked with another key: its code is wrong';

const onFiles: readonly Attack[] = [
  ['a changed file', s => edit(s, 'api.yaml', text => `${text}#`), ['~/api.yaml has changed since lock 1']],
  [
    'a file of the same length',
    s => edit(s, 'api.yaml', text => text.replace('1KB', '9KB')),
    ['~/api.yaml has changed since lock 1'],
  ],
  ['an added include', s => write(s, 'parts/b.yaml', ''), ['~/parts/b.yaml is not in lock 1']],
  [
    'an include of a file above',
    s => {
      writeFileSync(join(s.env['HOME']!, 'outer.yaml'), '');
      edit(s, 'parts/a.yaml', text => `include: [../../${s.env['HOME']!.split('/').at(-1)}/outer.yaml]\n${text}`);
    },
    ['~/parts/a.yaml has changed since lock 1', '$HOME/outer.yaml is not in lock 1'],
  ],
  ['a removed include', s => rmSync(at(s, 'parts/a.yaml')), ['~/parts/a.yaml is missing, but is in lock 1']],
  [
    'changed plugin code',
    s => edit(s, 'plugins/echo/index.js', () => 'x'),
    ['~/plugins/echo/index.js has changed since lock 1'],
  ],
  [
    'a changed manifest',
    s => edit(s, 'plugins/echo/manifest.yaml', t => `${t}#`),
    ['~/plugins/echo/manifest.yaml has changed since lock 1'],
  ],
  [
    'a changed inner file',
    s => edit(s, 'plugins/echo/lib/inner.js', () => ''),
    ['~/plugins/echo/lib/inner.js has changed since lock 1'],
  ],
  ['a file more in a plugin', s => write(s, 'plugins/echo/lib/.x', ''), ['~/plugins/echo/lib/.x is not in lock 1']],
  [
    'a file less in a plugin',
    s => rmSync(at(s, 'plugins/echo/lib/inner.js')),
    ['~/plugins/echo/lib/inner.js is missing, but is in lock 1'],
  ],
  [
    'what changes in node_modules, which is not sealed',
    s => write(s, 'plugins/echo/node_modules/dep/index.js', 'x'),
    [],
  ],
  [
    'a plugin more',
    s => cpSync(at(s, 'plugins/echo'), at(s, 'plugins/evil'), { recursive: true }),
    ['index.js', 'lib/inner.js', 'manifest.yaml'].map(name => `~/plugins/evil/${name} is not in lock 1`),
  ],
  [
    'a file that became a link to the same bytes elsewhere',
    s => {
      renameSync(at(s, 'api.yaml'), join(s.env['HOME']!, 'api.yaml'));
      symlinkSync(join(s.env['HOME']!, 'api.yaml'), at(s, 'api.yaml'));
    },
    ['~/api.yaml is a link out of ~, to $HOME/api.yaml', '~/api.yaml is missing, but is in lock 1'],
  ],
  [
    'a directory that became a link to elsewhere',
    s => {
      renameSync(at(s, 'plugins/echo/lib'), join(s.env['HOME']!, 'lib'));
      symlinkSync(join(s.env['HOME']!, 'lib'), at(s, 'plugins/echo/lib'));
    },
    [
      '~/plugins/echo/lib is a link out of ~/plugins/echo, to $HOME/lib',
      '~/plugins/echo/lib/inner.js is missing, but is in lock 1',
    ],
  ],
  [
    'a plugin that became a link out of its root',
    s => {
      renameSync(at(s, 'plugins/echo'), at(s, 'echo'));
      symlinkSync('../echo', at(s, 'plugins/echo'));
    },
    [
      '~/plugins/echo is a link out of ~/plugins, to ~/echo',
      '~/echo/index.js is not in lock 1',
      ...['index.js', 'lib/inner.js', 'manifest.yaml'].map(
        name => `~/plugins/echo/${name} is missing, but is in lock 1`,
      ),
    ],
  ],
  [
    'a link within the plugin that leads to other code',
    s => replaceByLink(s, 'plugins/echo/index.js', 'lib/inner.js'),
    ['~/plugins/echo/index.js has changed since lock 1'],
  ],
  ['a link in a circle, which adds nothing', s => symlinkSync('.', at(s, 'plugins/echo/loop')), []],
  [
    'a link to nowhere',
    s => symlinkSync('gone', at(s, 'plugins/echo/x')),
    ['~/plugins/echo/x cannot be resolved (ENOENT)'],
  ],
  [
    'a pipe',
    s => execFileSync('mkfifo', [at(s, 'plugins/echo/x')]),
    ['~/plugins/echo/x is neither a file nor a directory'],
  ],
  [
    'a file that everyone can write',
    s => chmodSync(at(s, 'api.yaml'), 0o666),
    ['~/api.yaml can be written by everyone'],
  ],
  ['a directory that everyone can write', s => chmodSync(s.directory, 0o1777), ['~ can be written by everyone']],
  [
    'a directory of includes that everyone can write',
    s => chmodSync(at(s, 'parts'), 0o777),
    ['~/parts can be written by everyone'],
  ],
  [
    'a plugin root that everyone can write',
    s => chmodSync(at(s, 'plugins'), 0o777),
    ['~/plugins can be written by everyone'],
  ],
  [
    'plugin code that everyone can write',
    s => chmodSync(at(s, 'plugins/echo/lib/inner.js'), 0o666),
    ['~/plugins/echo/lib/inner.js can be written by everyone'],
  ],
];

const onLock: readonly Attack[] = [
  [
    'a lock that everyone can write',
    s => chmodSync(s.lockFile, 0o666),
    ['~/.headgate.lock can be written by everyone'],
  ],
  ['a truncated lock', s => edit(s, '.headgate.lock', text => text.slice(0, -30)), [wrongCode]],
  ['an empty lock', s => edit(s, '.headgate.lock', () => ''), [wrongCode]],
  ['a lock of garbage', s => writeFileSync(s.lockFile, Buffer.from([0xff, 0, 0x0a, 0xfe])), [wrongCode]],
  [
    'a lock with another code',
    s => edit(s, '.headgate.lock', text => text.replace(/ ./, text[16] === '0' ? ' 1' : ' 0')),
    [wrongCode],
  ],
  ['a lock under another key', s => writeFileSync(s.keyFile, Buffer.alloc(32)), [wrongCode]],
  [
    'a lock that is a directory',
    s => {
      rmSync(s.lockFile);
      mkdirSync(s.lockFile);
    },
    ['~/.headgate.lock cannot be read (EISDIR)'],
  ],
  [
    'the lock of another directory',
    s => {
      const other = { ...makeUnsealed(false), env: s.env };
      locked(other);
      copyFileSync(other.lockFile, s.lockFile);
    },
    ['~/.headgate.lock was made for OTHER and is valid only there'],
  ],
  [
    'an older lock, with what it locked',
    s => {
      const old = readFileSync(s.lockFile);
      accept(at(s, 'data'), { lock: { number: locked(s).lock.number, strict: false }, note: null });
      writeFileSync(s.lockFile, old);
    },
    ['~/.headgate.lock is lock 1, which is older than the accepted lock 2'],
  ],
];

const onKey: readonly Attack[] = [
  ['a missing key', s => rmSync(s.keyFile), ['$HOME/.config/headgate/seal.key the seal key is missing']],
  ['a short key', s => writeFileSync(s.keyFile, 'x'), ['$HOME/.config/headgate/seal.key the seal key has 1 bytes']],
  [
    'a key that others may read',
    s => chmodSync(s.keyFile, 0o640),
    ['$HOME/.config/headgate/seal.key users other than its owner can use the seal key'],
  ],
];

test.each([...onFiles, ...onLock, ...onKey])('%s', (_, attack, expected) => {
  const sealed = makeSealed(false);
  attack(sealed);
  for (const [env, isStrict] of [[{}, false] as const, [{ HEADGATE_STRICT: '1' }, true] as const]) {
    const { ok, strict, findings, others } = load(sealed, {}, env);
    const told = findings.map(line => line.replace(/made for \S+/, 'made for OTHER'));
    expect(told.toSorted()).toEqual(expected.toSorted());
    expect([strict, ok]).toEqual([isStrict, others.length === 0 && (!isStrict || expected.length === 0)]);
  }
});
