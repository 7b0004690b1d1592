// Sessions of the dashboard, on the main thread. `headgate ui` requests a code with an API token; the dashboard exchanges the code for a session
// token. A session has at most the scopes of the API token, and ends with the API token. The file in the state directory contains digests of
// tokens, but no tokens.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '../runtime/durable-file.ts';

/** The maximum number of sessions, and also of unused codes. A further session is refused; a further code replaces the oldest code. */
export const sessionsMax = 100;
/** How long a session lasts. */
export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
/** How long a code is valid. */
export const codeSeconds = 60;
const codeMs = codeSeconds * 1_000;

const tokenPrefix = 'hgui_';
const fileName = 'ui-sessions.json';

/** What a session may do. */
export type SessionGrant = {
  /** The SHA-256 in hex of the API token with which the code was requested. */
  readonly originDigest: string;
  readonly scopes: readonly string[];
};
export type UiSession = SessionGrant & {
  /** The SHA-256 in hex of the session token. */
  readonly digest: string;
  readonly expiresAtMs: number;
};
export type NewSession = { readonly token: string; readonly session: UiSession };

/** The file that stores the sessions. `replace` throws errors of the file system; `read` also throws if the file is not JSON. */
export type SessionFile = { read(): readonly UiSession[]; replace(sessions: readonly UiSession[]): void };

export class UiSessions {
  readonly #file: SessionFile;
  readonly #nowMs: () => number;
  #sessions: Map<string, UiSession>;
  /** The unused codes, by digest. They are only in memory, so a restart discards them. */
  readonly #codes = new Map<string, SessionGrant & { readonly expiresAtMs: number }>();

  constructor(file: SessionFile, nowMs: () => number) {
    this.#file = file;
    this.#nowMs = nowMs;
    this.#sessions = byDigest(file.read().filter(session => isAlive(session, nowMs())));
  }

  /** Makes a code that can be exchanged once for a session. Null: there are too many sessions. */
  makeCode(grant: SessionGrant): { readonly code: string; readonly expiresAtMs: number } | null {
    this.#forgetExpired();
    if (this.#sessions.size >= sessionsMax) return null;
    if (this.#codes.size >= sessionsMax) this.#codes.delete(this.#codes.keys().next().value!);
    const code = randomBytes(24).toString('base64url');
    const expiresAtMs = this.#nowMs() + codeMs;
    this.#codes.set(digestOf(code), { ...grant, expiresAtMs });
    return { code, expiresAtMs };
  }

  /** Exchanges a code for a new session, which is then on disk. `unknown`: the code is not valid. `full`: there are too many sessions. */
  exchange(code: string): NewSession | 'unknown' | 'full' {
    this.#forgetExpired();
    const known = find(this.#codes, digestOf(code));
    if (known === undefined) return 'unknown';
    if (this.#sessions.size >= sessionsMax) return 'full';
    const token = tokenPrefix + randomBytes(32).toString('base64url');
    const { originDigest, scopes } = known;
    const session = { digest: digestOf(token), originDigest, scopes, expiresAtMs: this.#nowMs() + sessionMs };
    const sessions = [...this.#sessions.values(), session];
    this.#file.replace(sessions);
    this.#sessions = byDigest(sessions);
    this.#codes.delete(digestOf(code));
    return { token, session };
  }

  /** The session with this token; undefined if the token is not that of a session, or the session has ended. */
  find(token: string): UiSession | undefined {
    if (this.#sessions.size === 0 || !token.startsWith(tokenPrefix)) return undefined;
    const session = find(this.#sessions, digestOf(token));
    return session !== undefined && isAlive(session, this.#nowMs()) ? session : undefined;
  }

  /** Ends the sessions that match, in memory first. Returns their number. Throws if the file cannot be written. */
  end(matches: (session: UiSession) => boolean): number {
    const before = this.#sessions.size;
    const kept = [...this.#sessions.values()].filter(session => !matches(session));
    this.#sessions = byDigest(kept);
    if (kept.length < before) this.#file.replace(kept);
    return before - kept.length;
  }

  /** Ends the sessions whose API token is not in the configuration. */
  keepThoseOf(isKnown: (originDigest: string) => boolean): void {
    try {
      this.end(({ originDigest }) => !isKnown(originDigest));
    } catch (error) {
      // They have ended in memory, and are removed from the file with the next change.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }

  #forgetExpired(): void {
    const now = this.#nowMs();
    for (const [digest, code] of this.#codes) if (!isAlive(code, now)) this.#codes.delete(digest);
    for (const [digest, session] of this.#sessions) if (!isAlive(session, now)) this.#sessions.delete(digest);
  }
}

/** The file of sessions in the state directory. If its contents are damaged, all sessions have ended, and `onDamaged` is called. */
export function sessionFile(statePath: string, onDamaged: (file: string) => void): SessionFile {
  const path = join(statePath, fileName);
  return {
    read() {
      try {
        return JSON.parse(readFileSync(path, 'utf8')).sessions;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
        if (!(error instanceof SyntaxError)) throw error;
        onDamaged(path);
        return [];
      }
    },
    replace: sessions => replaceFile(path, Buffer.from(`${JSON.stringify({ sessions })}\n`), 0o600),
  };
}

function byDigest(sessions: readonly UiSession[]): Map<string, UiSession> {
  return new Map(sessions.map(session => [session.digest, session]));
}

function isAlive({ expiresAtMs }: { readonly expiresAtMs: number }, nowMs: number): boolean {
  return expiresAtMs > nowMs;
}

/** Finds the value with this digest. Each comparison takes constant time. */
function find<T>(among: ReadonlyMap<string, T>, digest: string): T | undefined {
  for (const [known, value] of among)
    if (timingSafeEqual(Buffer.from(known, 'latin1'), Buffer.from(digest, 'latin1'))) return value;
  return undefined;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
