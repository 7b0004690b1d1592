// The vault: names, grants and ages of secrets, never values. Its admin token stays in the memory of this screen. The vault audits each
// reading, so only the user starts one.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Refusal, send } from '../../core/api.ts';
import { counted } from '../../core/format.ts';
import { Button, Empty, Field, Page, Problem, Section, Table, Time } from '../../parts/index.ts';

type Entity = {
  readonly name: string;
  readonly status: 'active' | 'revoked';
  readonly created_at: string;
  readonly changed_at: string;
};
type Secret = Entity & { readonly pattern: string; readonly authorized_principals: readonly string[] };
type Principal = Entity & { readonly kind: string };
type Listing = {
  readonly principals: readonly Principal[];
  readonly secrets: readonly Secret[];
  readonly damaged: { readonly principals: readonly string[]; readonly secrets: readonly string[] };
};

export function VaultScreen(): JSX.Element {
  const [token, setToken] = useState('');
  const [read, setRead] = useState<{ readonly listing: Listing; readonly at: Date } | null>(null);
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const list = async () => {
    setBusy(true);
    setProblem(null);
    try {
      const answer = await send('POST', '/vault/list', { body: {}, token: token.trim() });
      setRead({ listing: JSON.parse(answer) as Listing, at: new Date() });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setProblem(error);
    } finally {
      setBusy(false);
    }
  };
  const lock = () => {
    setToken('');
    setRead(null);
    setProblem(null);
  };
  return (
    <Page
      title="Vault"
      subtitle={
        read ? (
          <>
            {counted(read.listing.secrets.length, 'secret')}, read <Time at={read.at} />. Values are never shown.
          </>
        ) : (
          'Names, grants and ages of secrets. Values are never shown.'
        )
      }
      actions={
        read && (
          <>
            <Button onClick={() => void list()} disabled={isBusy}>
              Read again
            </Button>
            <Button onClick={lock}>Forget the token</Button>
          </>
        )
      }
    >
      {problem && <VaultProblem problem={problem} />}
      {read === null ? (
        <form
          class="vault-open"
          onSubmit={event => {
            event.preventDefault();
            if (token.trim() !== '') void list();
          }}
        >
          <Field
            label="Admin token of the vault"
            type="password"
            value={token}
            onInput={setToken}
            hint="It is forgotten when you leave this page. Each reading is recorded in the audit trail."
          />
          <Button kind="primary" type="submit" disabled={isBusy || token.trim() === ''}>
            Open
          </Button>
        </form>
      ) : (
        <VaultListing listing={read.listing} />
      )}
    </Page>
  );
}

function VaultProblem({ problem }: { problem: Refusal }): JSX.Element {
  if (problem.code === 'vault_unavailable')
    return (
      <Empty title="No vault is open here">
        Create one while the service is stopped: <code>headgate vault init --config .</code>
      </Empty>
    );
  if (problem.status !== 401) return <Problem error={problem} />;
  const detail =
    'Other tokens of the API do not open the vault. “headgate vault reset-admin-token” makes a new admin token.';
  return <Problem error={new Refusal(401, problem.code, 'This is not the admin token of the vault', detail)} />;
}

function VaultListing({ listing }: { listing: Listing }): JSX.Element {
  const { principals, secrets, damaged } = listing;
  const harmed = [
    ...damaged.principals.map(name => `principal ${name}`),
    ...damaged.secrets.map(name => `secret ${name}`),
  ];
  return (
    <>
      {harmed.length > 0 && (
        <div class="problem" role="alert">
          <strong>Records that cannot be decrypted</strong>
          <p>{harmed.join(', ')}. Jobs that need them wait until they are set again.</p>
        </div>
      )}
      <Section title="Secrets">
        <Table
          label="Secrets"
          rows={secrets}
          rowKey={({ name }) => name}
          empty={
            <Empty title="The vault has no secrets">
              Create one: <code>headgate vault secret set NAME --grant PLUGIN &lt; value.txt</code>
            </Empty>
          }
          columns={[
            { name: 'Name', render: ({ name }) => <code>{name}</code> },
            { name: 'Status', render: ({ status }) => <EntityStatus status={status} /> },
            { name: 'Pattern', hideBelow: 768, render: ({ pattern }) => pattern },
            {
              name: 'Granted to',
              hideBelow: 768,
              render: ({ authorized_principals: granted }) =>
                granted.length === 0 ? <span class="muted">none</span> : granted.join(', '),
            },
            { name: 'Value from', align: 'right', render: ({ changed_at }) => <Time at={changed_at} /> },
            { name: 'Created', align: 'right', hideBelow: 768, render: ({ created_at }) => <Time at={created_at} /> },
          ]}
        />
      </Section>
      <Section title="Principals" note="identities to which secrets are granted">
        <Table
          label="Principals"
          rows={principals}
          rowKey={({ name }) => name}
          empty={
            <Empty title="No principals">
              Register a plugin: <code>headgate vault principal add NAME --kind plugin</code>
            </Empty>
          }
          columns={[
            { name: 'Name', render: ({ name }) => <code>{name}</code> },
            { name: 'Kind', render: ({ kind }) => kind },
            { name: 'Status', render: ({ status }) => <EntityStatus status={status} /> },
            { name: 'Changed', align: 'right', render: ({ changed_at }) => <Time at={changed_at} /> },
            { name: 'Created', align: 'right', hideBelow: 768, render: ({ created_at }) => <Time at={created_at} /> },
          ]}
        />
      </Section>
    </>
  );
}

function EntityStatus({ status }: { status: Entity['status'] }): JSX.Element {
  return status === 'active' ? <span>✓ active</span> : <span class="state-bad">✕ revoked</span>;
}
