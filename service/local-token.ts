// The local token: an API token that the service creates if the configuration has no tokens. It is stored in the state directory, where
// local clients find it.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiToken, Config } from '../config/config.ts';
import { createFile, makeDirectory, replaceFile } from '../runtime/durable-file.ts';

/** `made`: whether the token has just been created. */
export type LocalToken = { readonly token: string; readonly file: string; readonly made: boolean };

/** A new token with 24 random bytes. */
export function makeToken(): string {
  return `hg_${randomBytes(24).toString('base64url')}`;
}

/** The local token in this state directory; null if its file does not exist or is empty. */
export function knownToken(statePath: string): string | null {
  try {
    return readFileSync(tokenFile(statePath), 'utf8').trim() || null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return null;
  }
}

/** The local token in this state directory, which is created if necessary. Throws the system's error if the file cannot be read or written. */
export function localToken(statePath: string): LocalToken {
  const file = tokenFile(statePath);
  const known = knownToken(statePath);
  if (known !== null) return { token: known, file, made: false };
  const token = makeToken();
  const bytes = Buffer.from(`${token}\n`);
  makeDirectory(statePath, 0o700);
  if (createFile(file, bytes, 0o600)) return { token, file, made: true };
  // The file exists: another start has just created it, or it is empty.
  const other = knownToken(statePath);
  if (other === null) replaceFile(file, bytes, 0o600);
  return { token: other ?? token, file, made: other === null };
}

function tokenFile(statePath: string): string {
  return join(statePath, 'api-token');
}

/** Adds the local token, with the scope `*`, to a configuration that has no tokens. */
export function withLocalToken(config: Config): { readonly config: Config; readonly local: LocalToken | null } {
  if (config.api.tokens.length > 0) return { config, local: null };
  const local = localToken(config.state.path);
  const token: ApiToken = { name: 'local', token: local.token, scopes: ['*'], expiresAtMs: null };
  return { config: { ...config, api: { ...config.api, tokens: [token] } }, local };
}
