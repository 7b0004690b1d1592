// What one gateway leaves behind, kept while it lives, and looked through for secrets when it has ended.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keyVariable } from '../../../actors/vault/unlock-key.ts';
import { openVault } from '../../../actors/vault/vault.ts';
import { openReaderBeside } from '../../../runtime/store/ledger-store.ts';
import { watch } from './canary.ts';
import { type Environment, watchEnvironment, watchFile, watchUnlockKey } from './environment.ts';
import { mayHold } from './places.ts';
import { type Shown, shownBy } from './processes.ts';
import { sweepBytes, sweepDirectory } from './sweep.ts';
import { sweepTranscripts } from './transcript.ts';

export class Traces {
  readonly #shown = new Map<string, Shown>();
  readonly #said: string[] = [];

  /** Takes a text that the service has written to stdout or stderr. */
  said(text: string): void {
    this.#said.push(text);
  }

  /** Notes what the service and its children show to everybody at this moment. */
  look(pid: number): void {
    for (const one of shownBy(pid)) this.#shown.set(`${one.place} ${one.bytes}`, one);
  }

  /** Searches what an ended service left in its directory and elsewhere, and what was received from it. Returns the findings. */
  sweep(directory: string, environment: Environment): string[] {
    watchEnvironment(environment);
    watchState(join(directory, 'data'), environment);
    return [
      ...sweepDirectory(directory, mayHold),
      ...sweepBytes('stdout and stderr', this.#said.join('')),
      ...[...this.#shown.values()].flatMap(({ place, bytes }) => sweepBytes(place, bytes)),
      ...sweepTranscripts(),
    ];
  }
}

/** Makes sweeps look for the secrets that the service made or stored: the first token, the vault's keys, and all values in the vault. */
function watchState(path: string, environment: Environment): void {
  watchFile('the token of the first start', join(path, 'api-token'));
  const key = watchUnlockKey(join(path, 'vault.key'), environment[keyVariable]);
  if (key === null || !existsSync(join(path, 'data.mdb'))) return;
  const reader = openReaderBeside(path);
  try {
    const opening = openVault(reader, { key, file: null }, () => Buffer.alloc(0));
    if (opening.kind !== 'open') return;
    const { secrets, keyring } = opening.vault;
    for (const { name, value } of secrets.values()) watch(`the secret ${name}`, value ?? '');
    watch('the data key', keyring.dataKey);
    for (const { key } of keyring.auditKeys) watch('an audit key', key);
  } finally {
    reader.close();
  }
}
