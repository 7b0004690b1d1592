// The checks of the doctor, which the user can run again, and the selfcheck of the store.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refusal, request } from '../../core/api.ts';
import { count, counted, ms } from '../../core/format.ts';
import { useResource } from '../../core/resource.ts';
import { Button, Loading, Page, Problem, Section, Stat } from '../../parts/index.ts';

type Check = { readonly name: string; readonly passed: boolean; readonly detail: string };
type DoctorAnswer = { readonly status: 'ok' | 'degraded'; readonly checks: readonly Check[] };
type Health = {
  readonly status: string;
  readonly uptime_seconds: number;
  readonly queue_depth: number;
  readonly plugins_loaded: number;
  readonly config_path: string;
  readonly version: string;
};

export function DoctorScreen(): JSX.Element {
  const { data, error, loading, reload } = useResource<DoctorAnswer>('/system/doctor');
  const health = useResource<Health>('/healthz', { everyMs: 10_000 });
  const failed = data?.checks.filter(({ passed }) => !passed) ?? [];
  const passed = data?.checks.filter(({ passed: is }) => is) ?? [];
  return (
    <Page
      title="Doctor"
      subtitle={
        data &&
        (failed.length === 0
          ? `All ${data.checks.length} checks have passed`
          : `${counted(failed.length, 'check')} of ${data.checks.length} ${failed.length === 1 ? 'has' : 'have'} not passed`)
      }
      actions={
        <Button kind="primary" onClick={reload} disabled={loading}>
          {loading && data ? 'Checking…' : 'Run again'}
        </Button>
      }
    >
      {(health.data || !health.error) && <HealthStats health={health.data} />}
      {error && <Problem error={error} retry={reload} />}
      {data === undefined && !error && <Loading rows={10} />}
      {data && (
        <ul class="checks" aria-live="polite" aria-label="Checks">
          {[...failed, ...passed].map(check => (
            <CheckRow key={check.name} check={check} />
          ))}
        </ul>
      )}
      {(data || error) && <Selfcheck />}
    </Page>
  );
}

/** `health`: undefined until it has arrived. */
function HealthStats({ health }: { health: Health | undefined }): JSX.Element {
  return (
    <div class="stats">
      <Stat label="Version" value={health?.version ?? '–'} />
      <Stat label="Up for" value={health ? ms(health.uptime_seconds * 1_000) : '–'} />
      <Stat label="Plugins" value={health ? count(health.plugins_loaded) : '–'} />
      <Stat label="Queue" value={health ? count(health.queue_depth) : '–'} />
    </div>
  );
}

function CheckRow({ check }: { check: Check }): JSX.Element {
  const { name, passed, detail } = check;
  return (
    <li class={`check-row ${passed ? '' : 'check-failed'}`}>
      <span class={passed ? 'check-mark good' : 'check-mark bad'}>
        <span aria-hidden="true">{passed ? '✓' : '✕'}</span>
        <span class="offscreen">{passed ? 'passed' : 'not passed'}</span>
      </span>
      <span class="check-name">{name.replaceAll('_', ' ')}</span>
      <span class="check-detail">{detail}</span>
    </li>
  );
}

type SelfcheckAnswer = {
  readonly status: 'ok' | 'failed';
  readonly invariants_checked: number;
  readonly failures: readonly { readonly invariant: string; readonly detail: string }[];
  readonly detail: string;
};

/** The selfcheck reads much of the store, so it runs only when it is asked for. */
function Selfcheck(): JSX.Element {
  const [said, setSaid] = useState<SelfcheckAnswer | Refusal | 'running' | null>(null);
  const run = async () => {
    setSaid('running');
    try {
      setSaid(await request<SelfcheckAnswer>('GET', '/system/selfcheck'));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setSaid(error);
    }
  };
  return (
    <Section
      title="Selfcheck of the store"
      note="compares the tables of the running store with each other"
      actions={
        <Button onClick={() => void run()} disabled={said === 'running'}>
          {said === 'running' ? 'Checking…' : 'Check the store'}
        </Button>
      }
    >
      <div aria-live="polite">
        {said instanceof Refusal && <Problem error={said} />}
        {said !== null && said !== 'running' && !(said instanceof Refusal) && (
          <>
            <p class={said.status === 'ok' ? 'good' : 'bad'}>
              {said.status === 'ok' ? '✓ ' : '✕ '}
              {said.status === 'ok'
                ? `All ${said.invariants_checked} invariants hold.`
                : `${counted(said.failures.length, 'invariant')} of ${said.invariants_checked} do not hold.`}{' '}
              <span class="muted">{said.detail}</span>
            </p>
            <ul class="checks">
              {said.failures.map(({ invariant, detail }) => (
                <CheckRow key={`${invariant} ${detail}`} check={{ name: invariant, passed: false, detail }} />
              ))}
            </ul>
          </>
        )}
      </div>
    </Section>
  );
}
