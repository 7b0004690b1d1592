// Who decides that the seal is strict: the configuration, the lock, the environment, and what was in force before.
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { accept, acceptanceFile } from '../../../config/seal/acceptance.ts';
import { lockConfiguration } from '../../../config/seal/sealing.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { makeSandbox } from '../../unit/config/sandbox.ts';
import { edit, load, locked, makeSealed, makeUnsealed, optionsOf, type Sealed } from './sealed.ts';

const switchOff = (sealed: Sealed) => edit(sealed, 'config.yaml', text => text.replace('true', 'false'));
const state = ({ directory }: Sealed) => join(directory, 'data');

test('never locked and not strict, nothing is looked at', () => {
  expect(load(makeUnsealed(false))).toEqual({ ok: true, strict: false, findings: [], others: [] });
});

test.each([
  ['the configuration', makeUnsealed.bind(null, true), {}],
  ['the environment', makeUnsealed.bind(null, false), { HEADGATE_STRICT: '1' }],
])('never locked, but strict by %s: a missing lock is refused', (_, make, env) => {
  const missing = {
    ok: false,
    strict: true,
    findings: ['~/.headgate.lock is missing'],
  };
  expect(load(make(), {}, env)).toMatchObject(missing);
});

test('a file of a plugin is hashed in pieces, to its end', () => {
  const piece = 2 ** 20;
  const sizes = [0, 1, piece - 1, piece, piece + 1, 2 * piece + 5];
  const contents = sizes.map(size => [`plugins/echo/${size}.bin`, randomBytes(size)] as const);
  const { files } = locked(makeUnsealed(true, Object.fromEntries(contents))).lock;
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  for (const [path, bytes] of contents)
    expect(files).toContainEqual({ path, size: bytes.length, sha256: sha256(bytes) });
});

test('switched off in the file, the lock is still strict, and a new lock opens it', () => {
  const sealed = makeSealed(true);
  switchOff(sealed);
  expect(load(sealed)).toMatchObject({ ok: false, strict: true, findings: ['~/config.yaml has changed since lock 1'] });
  expect(locked(sealed).lock).toMatchObject({ number: 2, strict: false });
  expect(load(sealed)).toMatchObject({ ok: true, strict: false, findings: [] });
});

describe('where a strict lock was in force,', () => {
  const inForce = () => {
    const sealed = makeSealed(true);
    accept(state(sealed), { lock: { number: 1, strict: true }, note: null });
    switchOff(sealed);
    return sealed;
  };

  it('removing the lock does not open the seal', () => {
    const sealed = inForce();
    rmSync(sealed.lockFile);
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('a forged lock that says it is not strict does not open it', () => {
    const sealed = inForce();
    edit(sealed, '.headgate.lock', text => text.replace('"strict":true', '"strict":false'));
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('an older lock that was not strict does not open it', () => {
    const sealed = makeSealed(false);
    const old = readFileSync(sealed.lockFile);
    accept(state(sealed), {
      lock: { number: locked(sealed, { HEADGATE_STRICT: '1' }).lock.number, strict: true },
      note: null,
    });
    writeFileSync(sealed.lockFile, old);
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('another state.path does not open it for a running service', () => {
    const sealed = inForce();
    rmSync(sealed.lockFile);
    edit(sealed, 'parts/a.yaml', () => 'state: { path: ../elsewhere }');
    expect(load(sealed, { statePath: state(sealed) })).toMatchObject({ ok: false, strict: true });
  });

  it('a record that cannot be read does not open it', () => {
    const sealed = inForce();
    writeFileSync(acceptanceFile(state(sealed)), '{}');
    const findings = [
      '~/config.yaml has changed since lock 1',
      '~/data/seal.json cannot be read as the note of the accepted lock (its number or its field strict is missing or wrong)',
    ];
    const found = load(sealed);
    expect(found).toMatchObject({ ok: false, strict: true });
    expect(found.findings.toSorted()).toEqual(findings);
  });

  it('a record that was cut anywhere does not open it', () => {
    const sealed = inForce();
    const file = acceptanceFile(state(sealed));
    const whole = readFileSync(file, 'utf8').trimEnd();
    for (let length = 0; length < whole.length; length++) {
      writeFileSync(file, whole.slice(0, length));
      expect(load(sealed), `cut to ${length}`).toMatchObject({ ok: false, strict: true });
    }
  });
});

describe('a lock', () => {
  it('has a number that grows, also over a lost lock and a lost key', () => {
    const sealed = makeSealed(true);
    const numbers = [locked(sealed).lock.number, locked(sealed).lock.number];
    accept(state(sealed), { lock: { number: 3, strict: true }, note: null });
    rmSync(sealed.lockFile);
    numbers.push(locked(sealed).lock.number);
    accept(state(sealed), { lock: { number: 4, strict: true }, note: null });
    rmSync(sealed.keyFile);
    numbers.push(locked(sealed).lock.number);
    expect(numbers).toEqual([2, 3, 4, 5]);
    expect(load(sealed)).toMatchObject({ ok: true, findings: [] });
  });

  it('notes no older lock as the one in force', () => {
    const sealed = makeSealed(true);
    accept(state(sealed), { lock: { number: 7, strict: true }, note: null });
    accept(state(sealed), { lock: { number: 6, strict: false }, note: null });
    expect(JSON.parse(readFileSync(acceptanceFile(state(sealed)), 'utf8'))).toEqual({ number: 7, strict: true });
  });

  it('is not made of what is wrong or unsafe', () => {
    const wrong = makeUnsealed(false, { 'api.yaml': 'api: { nonsense: 1 }' });
    expect(lockConfiguration(optionsOf(wrong)).ok).toBe(false);
    const unsafe = makeUnsealed(false);
    symlinkSync(unsafe.env['HOME']!, join(unsafe.directory, 'plugins/echo/out'));
    expect(lockConfiguration(optionsOf(unsafe)).ok).toBe(false);
    for (const { lockFile, keyFile } of [wrong, unsafe])
      expect([lockFile, keyFile].map(file => diskFiles.kind(file))).toEqual(['missing', 'missing']);
  });

  it('has an entrypoint that lies in node_modules', () => {
    const manifest =
      'manifest_spec: headgate.plugin\nname: deep\nversion: 1.0.0\nprotocol: 2\nentrypoint: node_modules/x.js\ncommands: [{ name: handle, type: write }]\n';
    const sealed = makeSealed(true, { 'plugins/deep/manifest.yaml': manifest, 'plugins/deep/node_modules/x.js': '' });
    edit(sealed, 'plugins/deep/node_modules/x.js', () => 'other');
    expect(load(sealed).findings).toEqual(['~/plugins/deep/node_modules/x.js has changed since lock 1']);
  });
});

describe('the key', () => {
  const places = ['config.key', 'data/seal.key', 'plugins/echo/seal.key'];
  it.each([...places, ...places.map(place => `link to ${place}`)])('is refused as %s', where => {
    const sealed = makeUnsealed(true);
    const name = where.replace('link to ', '');
    const inside = join(sealed.directory, name);
    const link = join(makeSandbox({}), 'seal.key');
    mkdirSync(dirname(inside), { recursive: true });
    if (where !== name) {
      writeFileSync(inside, Buffer.alloc(32), { mode: 0o600 });
      symlinkSync(inside, link);
    }
    const env = { HEADGATE_SEAL_KEY_FILE: where === name ? inside : link };
    const result = lockConfiguration(optionsOf(sealed, env));
    expect(result).toMatchObject({ ok: false, problems: [expect.stringContaining('the seal key must not be in')] });
    expect(diskFiles.kind(sealed.lockFile)).toBe('missing');
  });

  it('is made once, for its owner alone', () => {
    const sealed = makeUnsealed(true);
    const env = { HEADGATE_SEAL_KEY_FILE: join(makeSandbox({}), 'deep/er/key') };
    expect(locked(sealed, env)).toMatchObject({ isNewKey: true, keyFile: env.HEADGATE_SEAL_KEY_FILE });
    expect(diskFiles.mode(env.HEADGATE_SEAL_KEY_FILE)).toBe(0o600);
    expect(locked(sealed, env).isNewKey).toBe(false);
    expect(load(sealed, {}, env)).toMatchObject({ ok: true, findings: [] });
  });

  it('must have a place', () => {
    const sealed = makeUnsealed(true);
    expect(lockConfiguration(optionsOf(sealed, { HOME: '' }))).toMatchObject({
      ok: false,
      problems: [expect.stringContaining('HEADGATE_SEAL_KEY_FILE')],
    });
  });
});
