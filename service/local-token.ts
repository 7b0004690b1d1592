// The token that is made at the first start when the configuration names none: kept beside the state, for start and clients.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiToken, Config } from '../config/config.ts';
import { createFile, makeDirectory, replaceFile } from '../runtime/durable-file.ts';

/** `made`: it did not exist before, and is worth printing this once. */
export type LocalToken = { readonly token: string; readonly file: string; readonly made: boolean };

/** 24 random bytes. */
export function makeToken(): string {
  return `hg_${randomBytes(24).toString('base64url')}`;
}

/** The token that is kept beside this state; null: none was made yet, or its file is empty. */
export function knownToken(statePath: string): string | null {
  try {
    return readFileSync(tokenFile(statePath), 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

export function localToken(statePath: string): LocalToken {
  const file = tokenFile(statePath);
  const known = knownToken(statePath);
  if (known !== null) return { token: known, file, made: false };
  const token = makeToken();
  const bytes = Buffer.from(`${token}\n`);
  makeDirectory(statePath, 0o700);
  if (createFile(file, bytes, 0o600)) return { token, file, made: true };
  // Another start was faster, or the file is empty.
  const other = knownToken(statePath);
  if (other === null) replaceFile(file, bytes, 0o600);
  return { token: other ?? token, file, made: other === null };
}

function tokenFile(statePath: string): string {
  return join(statePath, 'api-token');
}

/** The configuration with the local token, when it has no token of its own: everything may be done with it. */
export function withLocalToken(config: Config): { readonly config: Config; readonly local: LocalToken | null } {
  if (config.api.tokens.length > 0) return { config, local: null };
  const local = localToken(config.state.path);
  const token: ApiToken = { name: 'local', token: local.token, scopes: ['*'], expiresAtMs: null };
  return { config: { ...config, api: { ...config.api, tokens: [token] } }, local };
}
