// Runs an ended job again, if wanted with another payload. The new job opens when it is on disk.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { indented, Refusal, rawMember, request, requestText, send, withMember } from '../../core/api.ts';
import { go, href } from '../../core/router.ts';
import { Confirm, Field, Problem, Select } from '../../parts/index.ts';
import type { PayloadSchema } from '../../parts/run/payload-fields.ts';
import { PayloadForm } from '../../parts/run/payload-form.tsx';
import { type PayloadEditor, usePayload } from '../../parts/run/use-payload.ts';
import { rerunText } from './rerun-words.ts';
import { isRun, jobTitle, type ShownJob } from './shown-job.ts';

export type RerunDialogProps = {
  readonly job: ShownJob;
  readonly from: 'start' | 'failed';
  readonly onClose: () => void;
};

/** The payload of the old job, and the present input schema of its command or pipeline (`schemaOf`). */
type Old = { readonly payload: string; readonly schema: PayloadSchema | undefined };

export function RerunDialog({ job, from: proposed, onClose }: RerunDialogProps): JSX.Element {
  const [from, setFrom] = useState(proposed);
  const [reason, setReason] = useState('');
  const [delay, setDelay] = useState('');
  /** Null: it has not arrived yet, or the token may not read it. */
  const [old, setOld] = useState<Old | null>(null);
  const [error, setError] = useState<Refusal | null>(null);
  const editor = useRef<PayloadEditor | null>(null);
  useEffect(() => {
    Promise.all([requestText(`/job/${job.job_id}?include=payload`), schemaOf(job)]).then(
      ([answer, schema]) => {
        const payload = rawMember(answer, 'payload');
        if (payload !== undefined) setOld({ payload: indented(payload), schema });
      },
      refusal => {
        if (!(refusal instanceof Refusal)) throw refusal;
        setError(refusal);
      },
    );
  }, []);
  const title = `Rerun ${jobTitle(job)}`;
  const confirm = async () => {
    // A payload that was not edited is not sent, because the service then takes the stored one.
    const isEdited = from === 'start' && editor.current?.isEdited === true;
    const payload = isEdited ? editor.current!.read() : null;
    if (isEdited && payload === null) return false;
    return act(title, async () => {
      const body = {
        ...(isRun(job) && { from }),
        ...(reason !== '' && { reason }),
        ...(delay !== '' && { delay }),
      };
      try {
        const path = `/job/${job.job_id}/rerun`;
        const given = payload === null ? { body } : { bodyText: withMember(body, 'payload', payload) };
        const { job_id: id } = JSON.parse(await send('POST', path, given)) as { job_id: string };
        const to = href(isRun(job) ? 'run' : 'job', id);
        go(to);
        return { text: 'The new job is accepted.', link: { text: 'Open it', href: to } };
      } catch (refusal) {
        if (refusal instanceof Refusal) editor.current?.refuse(refusal);
        throw refusal;
      }
    });
  };
  return (
    <Confirm title={title} verb="Rerun" onConfirm={confirm} onClose={onClose}>
      {error && <Problem error={error} />}
      {isRun(job) && (
        <Select
          label="From"
          value={from}
          options={[
            { value: 'failed', text: 'the failed jobs: reuse the results of those that succeeded' },
            { value: 'start', text: 'the start: run everything again' },
          ]}
          onChange={value => setFrom(value === 'failed' ? 'failed' : 'start')}
        />
      )}
      {isRun(job) && job.counts && <p aria-live="polite">{rerunText(job.counts, from)}</p>}
      {old !== null && (
        <div hidden={from === 'failed'}>
          <OldPayload old={old} editor={editor} />
        </div>
      )}
      <Field label="Reason" value={reason} onInput={setReason} hint="Optional. Shown with the new job." />
      <Field
        label="Delay"
        value={delay}
        onInput={setDelay}
        placeholder="10m"
        hint="Optional. A duration such as 30s, 10m or 2h."
      />
    </Confirm>
  );
}

/** The form for the payload of the new job, which begins with the old payload. Sets `editor` to the state of the form. */
function OldPayload({ old, editor }: { old: Old; editor: { current: PayloadEditor | null } }): JSX.Element {
  const own = usePayload(old.schema, old.payload);
  editor.current = own;
  return <PayloadForm editor={own} />;
}

/** The schema of the payload; undefined: there is none, the token may not read it, or the command is no longer configured. */
async function schemaOf(job: ShownJob): Promise<PayloadSchema | undefined> {
  type Described = {
    readonly input_schema?: PayloadSchema;
    readonly commands?: readonly { readonly name: string; readonly input_schema?: PayloadSchema }[];
  };
  const { plugin, command } = job;
  const path = isRun(job) ? `/pipeline/${encodeURIComponent(command)}` : `/plugin/${encodeURIComponent(plugin)}`;
  try {
    const { input_schema, commands } = await request<Described>('GET', path);
    return isRun(job) ? input_schema : commands?.find(({ name }) => name === command)?.input_schema;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return undefined;
  }
}
