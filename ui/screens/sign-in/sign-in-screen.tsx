// Sign-in: a token is typed, or `headgate ui` has opened the page with a code.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refusal } from '../../core/api.ts';
import { endedBecause, signIn } from '../../core/session.ts';
import { Button, Copy, Field } from '../../parts/index.ts';

const command = 'headgate ui';

export function SignInScreen(): JSX.Element {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    if (token.trim() === '') return setProblem('Enter a token.');
    setBusy(true);
    try {
      await signIn(token.trim());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setProblem(error.status === 401 ? 'The service does not accept this token.' : error.message);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main class="sign-in" id="main">
      <form
        class="sign-in-card"
        onSubmit={event => {
          event.preventDefault();
          void submit();
        }}
      >
        <h1 class="brand">
          <span class="brand-mark" aria-hidden="true" />
          headgate
        </h1>
        {endedBecause.value !== null && problem === null && (
          <p class="sign-in-note" role="status">
            {endedBecause.value}
          </p>
        )}
        <Field
          label="API token"
          type="password"
          value={token}
          onInput={setToken}
          autoFocus
          error={problem ?? undefined}
          hint="The token stays in this tab until you sign out or close the tab."
        />
        <Button kind="primary" type="submit" disabled={isBusy}>
          Sign in
        </Button>
        <p class="sign-in-other">
          Or, where the service runs: <code>{command}</code> <Copy text={command} label={`Copy ${command}`} />
        </p>
      </form>
    </main>
  );
}
