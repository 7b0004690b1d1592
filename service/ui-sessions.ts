// Sessions of the dashboard, on the main thread. `headgate ui` requests a code with an API token; the dashboard exchanges the code for a session
// token. A session has at most the scopes of the API token, and ends with the API token. The file in the state directory contains digests of
// tokens, but no tokens.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiToken } from '../config/config.ts';
import { replaceFile } from '../runtime/durable-file.ts';

/** The maximum number of sessions, and also of unused codes. A further one replaces the oldest one of the API token that has the most. */
export const sessionsMax = 100;
/** The maximum duration of a session. */
export const sessionHours = 12;
const sessionMs = sessionHours * 3_600_000;
/** How long a code is valid. */
export const codeSeconds = 60;
const codeMs = codeSeconds * 1_000;

const tokenPrefix = 'hgui_';
const fileName = 'ui-sessions.json';

/** The scopes of a session, and the API token from which they come. */
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

/** The file that stores the sessions. `replace` throws errors of the file system. */
export type SessionFile = { read(): readonly UiSession[]; replace(sessions: readonly UiSession[]): void };

/** An unused code. `digest` is the digest of the code. `sessionEndsMax`: when the API token expires, in ms since the epoch; Infinity: never. */
type SignInCode = UiSession & { readonly sessionEndsMax: number };

export class UiSessions {
  readonly #file: SessionFile;
  readonly #nowMs: () => number;
  #sessions: Map<string, UiSession>;
  /** The unused codes, by digest. They are only in memory, so a restart discards them. */
  readonly #codes = new Map<string, SignInCode>();
  #endings = 0;
  /** Whether the last write of the file succeeded. Otherwise the file may have sessions that have ended. */
  #isStored = true;

  constructor(file: SessionFile, nowMs: () => number) {
    this.#file = file;
    this.#nowMs = nowMs;
    this.#sessions = byDigest(file.read().filter(session => isAlive(session, nowMs())));
  }

  /** A number that grows whenever sessions end before they expire. */
  get endings(): number {
    return this.#endings;
  }

  /**
   * Makes a code that can be exchanged once for a session. The session ends with the API token. `tokenExpiresAtMs`: when that token
   * expires; null: never.
   */
  makeCode(
    { originDigest, scopes }: SessionGrant,
    tokenExpiresAtMs: number | null,
  ): { readonly code: string; readonly expiresAtMs: number } {
    this.#forgetExpired();
    if (this.#codes.size >= sessionsMax) this.#codes.delete(oldestOfMost(this.#codes).digest);
    const code = randomBytes(24).toString('base64url');
    const digest = digestOf(code);
    const expiresAtMs = this.#nowMs() + codeMs;
    this.#codes.set(digest, {
      digest,
      originDigest,
      scopes,
      expiresAtMs,
      sessionEndsMax: tokenExpiresAtMs ?? Infinity,
    });
    return { code, expiresAtMs };
  }

  /** Exchanges a code for a new session, and writes the session to disk. Null: the code is not valid. Throws if the file cannot be written. */
  exchange(code: string): NewSession | null {
    this.#forgetExpired();
    const known = find(this.#codes, digestOf(code));
    if (known === undefined) return null;
    const token = tokenPrefix + randomBytes(32).toString('base64url');
    const { originDigest, scopes, sessionEndsMax } = known;
    const expiresAtMs = Math.min(this.#nowMs() + sessionMs, sessionEndsMax);
    const session = { digest: digestOf(token), originDigest, scopes, expiresAtMs };
    const leaving = this.#sessions.size >= sessionsMax ? oldestOfMost(this.#sessions) : null;
    const sessions = [...this.#sessions.values(), session].filter(one => one !== leaving);
    this.#store(sessions);
    this.#sessions = byDigest(sessions);
    this.#codes.delete(known.digest);
    if (leaving !== null) this.#endings++;
    return { token, session };
  }

  /** The session with this token; undefined if no session has this token, or the session has ended. */
  find(token: string): UiSession | undefined {
    if (this.#sessions.size === 0 || !token.startsWith(tokenPrefix)) return undefined;
    const session = find(this.#sessions, digestOf(token));
    return session !== undefined && isAlive(session, this.#nowMs()) ? session : undefined;
  }

  /**
   * Ends the sessions and the unused codes that match, in memory first. Returns the number of ended sessions. Throws if the file cannot be
   * written; a call that succeeds later removes the ended sessions from the file, even if it ends none itself.
   */
  end(matches: (held: UiSession) => boolean): number {
    for (const code of this.#codes.values()) if (matches(code)) this.#codes.delete(code.digest);
    const kept = [...this.#sessions.values()].filter(session => !matches(session));
    const ended = this.#sessions.size - kept.length;
    if (ended === 0 && this.#isStored) return 0;
    this.#sessions = byDigest(kept);
    if (ended > 0) this.#endings++;
    this.#store(kept);
    return ended;
  }

  #store(sessions: readonly UiSession[]): void {
    this.#isStored = false;
    this.#file.replace(sessions);
    this.#isStored = true;
  }

  /** Keeps the sessions and unused codes of these API tokens, and ends all others. */
  keepThoseOf(tokens: readonly Pick<ApiToken, 'token'>[]): void {
    const kept = new Set(tokens.map(({ token }) => digestOf(token)));
    try {
      this.end(({ originDigest }) => !kept.has(originDigest));
    } catch (error) {
      // The file cannot be written, but the sessions have ended in memory. The next change removes them from the file.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }

  #forgetExpired(): void {
    const now = this.#nowMs();
    for (const [digest, code] of this.#codes) if (!isAlive(code, now)) this.#codes.delete(digest);
    for (const [digest, session] of this.#sessions) if (!isAlive(session, now)) this.#sessions.delete(digest);
  }
}

/** The file of sessions in the state directory. If its contents are damaged, `read` calls `onDamaged` and returns no sessions. */
export function sessionFile(statePath: string, onDamaged: (file: string) => void): SessionFile {
  const path = join(statePath, fileName);
  return {
    read() {
      try {
        const { sessions } = JSON.parse(readFileSync(path, 'utf8')) ?? {};
        if (Array.isArray(sessions) && sessions.every(isSession)) return sessions;
        throw new SyntaxError(`${path} is not a list of sessions`);
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

function isSession(value: unknown): value is UiSession {
  const { digest, originDigest, scopes, expiresAtMs } = (value ?? {}) as { readonly [member: string]: unknown };
  const areDigests = [digest, originDigest].every(text => typeof text === 'string' && /^[0-9a-f]{64}$/.test(text));
  return areDigests && Array.isArray(scopes) && typeof expiresAtMs === 'number';
}

/** The oldest entry of the API token with the most entries. `among` has at least one entry, and begins with the oldest. */
function oldestOfMost<T extends UiSession>(among: ReadonlyMap<string, T>): T {
  const counts = new Map<string, number>();
  for (const { originDigest } of among.values()) counts.set(originDigest, (counts.get(originDigest) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return [...among.values()].find(({ originDigest }) => counts.get(originDigest) === most)!;
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
