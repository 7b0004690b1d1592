// Reloads the configuration, after a dry run that says what is wrong with it and which jobs would be held.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { Refusal, request } from '../../core/api.ts';
import { count } from '../../core/format.ts';
import { queryText } from '../../core/router.ts';
import { Button, Confirm, Problem } from '../../parts/index.ts';

type DryReload = {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly held: readonly { readonly plugin: string; readonly command: string; readonly jobs: number }[];
};

export function ReloadButton({ onDone }: { onDone: () => void }): JSX.Element {
  const [asks, setAsks] = useState(false);
  return (
    <>
      <Button onClick={() => setAsks(true)}>Reload…</Button>
      {asks && <ReloadQuestion onDone={onDone} onClose={() => setAsks(false)} />}
    </>
  );
}

function ReloadQuestion({ onDone, onClose }: { onDone: () => void; onClose: () => void }): JSX.Element {
  const [dry, setDry] = useState<DryReload | Refusal | null>(null);
  const [refusesHeld, setRefusesHeld] = useState(false);
  useEffect(() => {
    request<DryReload>('POST', '/system/reload?dry_run=true').then(setDry, error => {
      if (!(error instanceof Refusal)) throw error;
      setDry(error);
    });
  }, []);
  const reload = () =>
    act('Reloaded the configuration', async () => {
      const { message } = await request<{ message: string }>(
        'POST',
        `/system/reload${queryText({ hold: refusesHeld ? 'refuse' : '' })}`,
      );
      onDone();
      return message;
    });
  const found = dry instanceof Refusal ? null : dry;
  return (
    <Confirm
      title="Reload the configuration"
      verb="Reload"
      disabled={found === null || found.errors.length > 0}
      onConfirm={reload}
      onClose={onClose}
    >
      <p>Running work continues. An invalid configuration is refused, and the old one stays in force.</p>
      {dry === null && <p aria-live="polite">Reading the files…</p>}
      {dry instanceof Refusal && <Problem error={dry} />}
      {found && <Findings found={found} />}
      <label class="option">
        <input type="checkbox" checked={refusesHeld} onChange={event => setRefusesHeld(event.currentTarget.checked)} />
        Refuse the reload if it would hold more queued jobs than are held now
      </label>
    </Confirm>
  );
}

function Findings({ found }: { found: DryReload }): JSX.Element {
  const { errors, warnings, held } = found;
  return (
    <div aria-live="polite" class="reload-found">
      {errors.length === 0 && <p class="good">✓ The files are valid.</p>}
      <Lines title="Errors" lines={errors} />
      <Lines title="Warnings" lines={warnings} />
      <Lines
        title="Queued jobs that would be held"
        lines={held.map(({ plugin, command, jobs }) => `${plugin} ${command}: ${count(jobs)}`)}
      />
    </div>
  );
}

function Lines({ title, lines }: { title: string; lines: readonly string[] }): JSX.Element | null {
  if (lines.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {lines.map(line => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </>
  );
}
