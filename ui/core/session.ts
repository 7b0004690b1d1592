// The token with which the page calls the API. It is kept in the sessionStorage of the tab: in no cookie, and in no URL after sign-in.
import { signal } from '@preact/signals';
import { toast } from './actions.ts';
import { Refusal, request, send, useCredentials } from './api.ts';

export type Session = {
  readonly token: string;
  readonly name: string | null;
  /** The scopes as `/whoami` returns them, with those that they imply. */
  readonly scopes: ReadonlySet<string>;
  readonly expiresAt: Date | null;
};

const storageKey = 'headgate.token';
/** The tokens of sessions, which end with sign-out. API tokens of the configuration have another form. */
const sessionPrefix = 'hgui_';

export const session = signal<Session | null>(null);
/** Why the last session ended; null: the user signed out, or there was none. */
export const endedBecause = signal<string | null>(null);

useCredentials({
  token: () => session.value?.token ?? null,
  refused: () => end('The token is no longer valid: it has expired, or it was removed.'),
});

/** Whether the token has one of the scopes. This only decides what the page offers; the service itself enforces the scopes. */
export function may(...scopes: readonly string[]): boolean {
  const own = session.value?.scopes;
  return own !== undefined && (own.has('*') || scopes.some(scope => own.has(scope)));
}

/** Signs in with an API token or the token of a session. Throws a `Refusal` if the service does not accept it. */
export async function signIn(token: string): Promise<void> {
  const { name, scopes, expires_at: expires } = JSON.parse(await send('GET', '/whoami', { token }));
  // Ends everything that belongs to the previous session, such as its stream of events.
  session.value = null;
  session.value = { token, name, scopes: new Set(scopes), expiresAt: expires === null ? null : new Date(expires) };
  endedBecause.value = null;
  sessionStorage.setItem(storageKey, token);
}

/** Exchanges a code of `headgate ui` for the token of a session, and signs in with it. */
export async function signInWithCode(code: string): Promise<void> {
  const made = JSON.parse(await send('POST', '/ui/session', { body: { code }, token: null }));
  await signIn(made.token);
}

export async function signOut(): Promise<void> {
  const token = session.value?.token;
  try {
    if (token?.startsWith(sessionPrefix)) await request('DELETE', '/ui/session');
  } finally {
    end(null);
  }
}

function end(reason: string | null): void {
  sessionStorage.removeItem(storageKey);
  endedBecause.value = reason;
  session.value = null;
}

/** A code of `headgate ui` in the URL. */
function codeInUrl(): string | undefined {
  return /^#code=([\w-]+)$/.exec(location.hash)?.[1];
}

/** Signs in with the code in the URL, or with the token that the tab keeps. */
export async function resumeSession(): Promise<void> {
  const code = codeInUrl();
  const kept = sessionStorage.getItem(storageKey);
  try {
    if (code !== undefined) {
      // The code leaves the address bar before it is used: it works only once.
      history.replaceState(null, '', '#/now');
      await signInWithCode(code);
    } else if (kept !== null) await signIn(kept);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (code === undefined && error.status === 401) sessionStorage.removeItem(storageKey);
    if (session.value !== null)
      toast({ kind: 'refused', text: 'The code of headgate ui was refused', detail: error.detail });
    else
      endedBecause.value = code === undefined ? error.message : `The code of headgate ui was refused. ${error.detail}`;
  }
}

// The URL of `headgate ui` may be opened in a tab that already shows the dashboard.
addEventListener('hashchange', () => {
  if (codeInUrl() !== undefined) void resumeSession();
});
