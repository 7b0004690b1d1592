// The notes beside the seal key: with them, neither another state.path nor an older lock with its old state breaks the seal.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { type LoadResult, loadConfig } from '../../../config/load.ts';
import {
  type AcceptanceNote,
  accept,
  acceptanceFile,
  acceptanceNoteFile,
  readAcceptanceNote,
} from '../../../config/seal/acceptance.ts';
import { diskFiles } from '../../../config/source/files.ts';
import { makeSandbox } from '../../unit/config/sandbox.ts';
import { edit, load, locked, makeSealed, makeUnsealed, optionsOf, type Sealed } from './sealed.ts';

const state = ({ directory }: Sealed, name = 'data') => join(directory, name);
const memoryOf = ({ directory, keyFile }: Sealed): AcceptanceNote => ({ keyFile, directory });

function loadedOf(sealed: Sealed, env: Sealed['env'] = {}): Extract<LoadResult, { ok: true }> {
  const loaded = loadConfig(optionsOf(sealed, env));
  if (!loaded.ok) throw new Error(loaded.problems.join('\n'));
  return loaded;
}

/** Accepts the configuration as a start does. Returns why this could not be noted; null if it was. */
function start(sealed: Sealed, env: Sealed['env'] = {}): string | null {
  const { config, seal } = loadedOf(sealed, env);
  return accept(config.state.path, seal);
}

function nameState(sealed: Sealed, name: string): void {
  edit(sealed, 'parts/a.yaml', () => `state: { path: ../${name} }`);
}

/** A strict lock that is in force, after which config.yaml was changed to `strict_mode: false`. */
function inForce(): Sealed {
  const sealed = makeSealed(true);
  expect(start(sealed)).toBe(null);
  edit(sealed, 'config.yaml', text => text.replace('true', 'false'));
  return sealed;
}

test('the lock in force is noted with the state, and beside the key for its directory alone', () => {
  const sealed = inForce();
  const file = acceptanceNoteFile(memoryOf(sealed));
  const { directory } = sealed;
  expect(JSON.parse(readFileSync(acceptanceFile(state(sealed)), 'utf8'))).toEqual({ number: 1, strict: true });
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ number: 1, strict: true, directory });
  expect([file, dirname(file)].map(diskFiles.mode)).toEqual([0o600, 0o700]);
  expect(readAcceptanceNote({ ...memoryOf(sealed), directory: '/elsewhere' }, diskFiles)).toBe(null);
});

describe('where a strict lock was in force,', () => {
  it('another state.path opens nothing, with or without the lock', () => {
    const sealed = inForce();
    nameState(sealed, 'data2');
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
    rmSync(sealed.lockFile);
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('nor does a state.path with a note of any number that says it is not strict', () => {
    const sealed = inForce();
    rmSync(sealed.lockFile);
    nameState(sealed, 'data2');
    mkdirSync(state(sealed, 'data2'));
    for (const number of [0, 1, 2, 1e9]) {
      writeFileSync(acceptanceFile(state(sealed, 'data2')), JSON.stringify({ number, strict: false }));
      expect(load(sealed), `number ${number}`).toMatchObject({ ok: false, strict: true });
    }
  });

  it('nor does an older lock with its files and the state of its time', () => {
    const sealed = makeSealed(false);
    start(sealed);
    const old = ['config.yaml', 'parts/a.yaml', '.headgate.lock'].map(
      name => [name, readFileSync(join(sealed.directory, name))] as const,
    );
    edit(sealed, 'config.yaml', text => text.replace('false', 'true'));
    nameState(sealed, 'data2');
    locked(sealed);
    start(sealed);
    for (const [name, bytes] of old) writeFileSync(join(sealed.directory, name), bytes);
    const findings = ['~/.headgate.lock is lock 1, which is older than the accepted lock 2'];
    expect(load(sealed)).toMatchObject({ ok: false, strict: true, findings });
  });

  it('nor does the state of a running service that is replaced', () => {
    const sealed = inForce();
    rmSync(state(sealed), { recursive: true });
    rmSync(sealed.lockFile);
    expect(load(sealed, { statePath: state(sealed) })).toMatchObject({ ok: false, strict: true });
  });

  it.each([
    ['is cut', '{"number":1,'],
    ['says nothing', '{}'],
    ['is of another directory', '{"number":1,"strict":false,"directory":"/elsewhere"}'],
    ['names no directory', '{"number":1,"strict":false}'],
  ])('a memory that %s opens nothing and says what to do', (_, text) => {
    const sealed = inForce();
    const file = acceptanceNoteFile(memoryOf(sealed));
    writeFileSync(file, text);
    rmSync(sealed.lockFile);
    rmSync(state(sealed), { recursive: true });
    const loaded = loadConfig(optionsOf(sealed));
    expect(loaded).toMatchObject({ ok: false, seal: { strict: true } });
    const line = loaded.seal.findings.find(finding =>
      finding.startsWith(`${file}:1:1: seal: cannot be read as the note`),
    );
    expect(line).toMatch(/; find out who changed it, then remove it$/);
  });

  it('a memory that cannot be read is an error, not a missing one', () => {
    const sealed = inForce();
    const file = acceptanceNoteFile(memoryOf(sealed));
    rmSync(file);
    mkdirSync(file);
    rmSync(sealed.lockFile);
    rmSync(state(sealed), { recursive: true });
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('a new lock that is not strict opens it', () => {
    const sealed = inForce();
    nameState(sealed, 'data2');
    expect(locked(sealed).lock).toMatchObject({ number: 2, strict: false });
    expect(load(sealed)).toMatchObject({ ok: true, strict: false, findings: [] });
    start(sealed);
    expect(readAcceptanceNote(memoryOf(sealed), diskFiles)).toEqual({ number: 2, strict: false });
  });
});

describe('the number of a lock', () => {
  it('goes on from the memory where state and lock are gone', () => {
    const sealed = inForce();
    rmSync(sealed.lockFile);
    nameState(sealed, 'data2');
    expect(locked(sealed).lock.number).toBe(2);
  });

  it('is not given where the memory is damaged', () => {
    const sealed = inForce();
    writeFileSync(acceptanceNoteFile(memoryOf(sealed)), '');
    expect(() => locked(sealed)).toThrow('find out who changed it, then remove it');
  });
});

describe('the memory', () => {
  it('lies beside the key that HEADGATE_SEAL_KEY_FILE names', () => {
    const env = { HEADGATE_SEAL_KEY_FILE: join(makeSandbox({}), 'keys/seal.key') };
    const sealed = makeUnsealed(true);
    locked(sealed, env);
    expect(start(sealed, env)).toBe(null);
    const memory = { keyFile: env.HEADGATE_SEAL_KEY_FILE, directory: sealed.directory };
    expect(readAcceptanceNote(memory, diskFiles)).toEqual({ number: 1, strict: true });
    expect(existsSync(acceptanceNoteFile(memoryOf(sealed)))).toBe(false);
  });

  it('says nothing of a copy of the directory', () => {
    const sealed = inForce();
    const copy = { ...makeUnsealed(false), env: sealed.env };
    expect(load(copy)).toEqual({ ok: true, strict: false, findings: [], others: [] });
  });
});

describe('where nothing can be noted beside the key,', () => {
  /** Accepts the configuration where no note can be written: a full or read-only file system fails in the same way. */
  const readOnly = (sealed: Sealed): void => {
    const { config, seal } = loadedOf(sealed);
    const nowhere = { keyFile: join(sealed.directory, 'api.yaml/seal.key'), directory: sealed.directory };
    expect(accept(config.state.path, { ...seal, note: nowhere })).toMatch(/ENOTDIR/);
  };

  it('the state alone counts, and that is told', () => {
    const sealed = makeSealed(true);
    readOnly(sealed);
    const { seal } = loadedOf(sealed);
    expect(seal.gap).toBe(`${acceptanceNoteFile(memoryOf(sealed))} lacks it`);
    rmSync(sealed.lockFile);
    edit(sealed, 'config.yaml', text => text.replace('true', 'false'));
    expect(load(sealed)).toMatchObject({ ok: false, strict: true });
  });

  it('also without a home directory', () => {
    const sealed = makeUnsealed(false);
    accept(state(sealed), { lock: { number: 1, strict: true }, note: null });
    const { seal } = loadConfig(optionsOf(sealed, { HOME: '' }));
    expect(seal).toMatchObject({ strict: true, note: null, gap: 'HOME is not set' });
  });

  it('an unsealed configuration is as free as before', () => {
    const sealed = makeUnsealed(false);
    for (const HOME of ['', '/nothing/at/all', join(sealed.directory, 'config.yaml')])
      expect(load(sealed, {}, { HOME })).toMatchObject({ ok: true, findings: [] });
  });
});
