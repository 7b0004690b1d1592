// A directory of its own for each test of the commands that work on a vault without a service.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, onTestFinished } from 'vitest';
import type { VaultLocation } from '../../../cli/vault/offline.ts';
import { headgate, type Outcome } from '../cli/headgate.ts';
import { placeIn } from './service.ts';

/** A thread of a store that was just closed may still write a file. */
export const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };

export class VaultCommands {
  /** The directory of the test, with an empty configuration. */
  directory = '';
  place: VaultLocation = placeIn('');

  constructor() {
    beforeEach(() => {
      const directory = mkdtempSync(join(tmpdir(), 'headgate-vault-'));
      onTestFinished(() => rmSync(directory, removal));
      writeFileSync(join(directory, 'config.yaml'), '{}');
      this.directory = directory;
      this.place = placeIn(join(directory, 'data'));
    });
  }

  /** `headgate vault WORDS`. */
  readonly run = (words: string, env: { readonly [name: string]: string } = {}): Promise<Outcome> =>
    headgate(['vault', ...words.split(' '), '--config', this.directory, '--json'], { env });
}
