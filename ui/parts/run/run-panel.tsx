// Runs a command or a pipeline: the form of its payload, when it runs, and the job that it became.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { Refusal, rawMember, send } from '../../core/api.ts';
import { freeze } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { Button, Field, Problem } from '../index.ts';
import { FollowedJob } from './followed-job.tsx';
import { assemble, errorsByField, fieldsOf, fieldsOfText, jsonProblem, type PayloadSchema } from './payload-fields.ts';
import { type PayloadDraft, PayloadForm } from './payload-form.tsx';

/** `delay`, `deadline`: such as `10m`. `tag`: `key:text`, several separated by blanks. */
type RunTimes = { readonly delay: string; readonly deadline: string; readonly tags: string };

const noTimes: RunTimes = { delay: '', deadline: '', tags: '' };

export function RunPanel(props: {
  /** Where the call goes: `/plugin/…/…` or `/pipeline/…`. */
  path: string;
  /** What is run, for the button: `greet handle`. */
  name: string;
  schema: PayloadSchema | undefined;
  /** Why the token may not run it; null: it may. */
  refused: string | null;
}): JSX.Element {
  const { path, name, schema, refused } = props;
  const fields = fieldsOf(schema);
  const [draft, setDraft] = useState<PayloadDraft>(() =>
    fields === null ? { as: 'text', text: '{}' } : { as: 'fields', fields, values: {} },
  );
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({});
  const [times, setTimes] = useState(noTimes);
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [jobId, setJobId] = useState<string | null>(null);
  const release = useRef<(() => void) | null>(null);
  useEffect(() => () => release.current?.(), []);

  const change = (next: PayloadDraft) => {
    setDraft(next);
    setErrors({});
  };
  const asText = () => {
    if (draft.as === 'text') return;
    const made = assemble(
      draft.fields.map(field => ({ ...field, isRequired: false })),
      draft.values,
    );
    if (made.ok) change({ as: 'text', text: made.text });
    else setErrors(made.errors);
  };
  const asFields = () => {
    if (draft.as === 'fields' || fields === null) return;
    const found = fieldsOfText(fields, draft.text, rawMember);
    if (found === null) setErrors({ '': `Payload ${jsonProblem(draft.text) ?? 'is not an object'}` });
    else change({ as: 'fields', ...found });
  };
  const payloadOf = (): string | null => {
    if (draft.as === 'text') {
      const wrong = jsonProblem(draft.text);
      if (wrong !== null) setErrors({ '': `Payload ${wrong}` });
      return wrong === null ? draft.text : null;
    }
    const made = assemble(draft.fields, draft.values);
    if (!made.ok) setErrors(made.errors);
    return made.ok ? made.text : null;
  };
  const run = async () => {
    const payload = payloadOf();
    if (payload === null) return;
    setBusy(true);
    setProblem(null);
    await act(`Run ${name}`, async () => {
      try {
        const response = await send('POST', `${path}${path.startsWith('/pipeline/') ? '?async=true' : ''}`, {
          bodyText: bodyOf(payload, times),
        });
        const { job_id } = (await response.json()) as { job_id: string };
        setJobId(job_id);
        return { text: 'The job is on disk.', link: { text: 'Show the job', href: href('job', job_id) } };
      } catch (error) {
        if (error instanceof Refusal) {
          const found = draft.as === 'fields' ? errorsByField(error.errors, error.detail) : {};
          setErrors(found);
          // What is said beside the fields is not said again below them.
          if (error.code !== 'invalid_payload' || Object.keys(found).length === 0) setProblem(error);
        }
        throw error;
      }
    });
    setBusy(false);
  };
  return (
    <div class="run-panel">
      <form
        class="run-form"
        aria-label={`Run ${name}`}
        // What is edited does not change under the hands of the user.
        onFocusIn={() => {
          release.current ??= freeze();
        }}
        onFocusOut={event => {
          if (event.currentTarget.contains(event.relatedTarget as Node | null)) return;
          release.current?.();
          release.current = null;
        }}
        onSubmit={event => {
          event.preventDefault();
          void run();
        }}
      >
        <PayloadForm
          draft={draft}
          errors={errors}
          onChange={change}
          {...(fields !== null && { onFields: asFields })}
          onText={asText}
        />
        <details class="run-more">
          <summary>When, and with which tags</summary>
          <div class="run-times">
            <Field
              label="Delay"
              value={times.delay}
              onInput={delay => setTimes({ ...times, delay })}
              placeholder="10m"
              hint="Runs after this time."
            />
            <Field
              label="Deadline"
              value={times.deadline}
              onInput={deadline => setTimes({ ...times, deadline })}
              placeholder="2h"
              hint="Ends as timed out after it."
            />
            <Field
              label="Tags"
              value={times.tags}
              onInput={tags => setTimes({ ...times, tags })}
              placeholder="tenant:acme"
              hint="key:text, separated by blanks."
            />
          </div>
        </details>
        {problem && <Problem error={problem} />}
        <div class="run-actions">
          <Button kind="primary" type="submit" disabled={isBusy || refused !== null}>
            Run {name}
          </Button>
          {refused !== null && <span class="muted">{refused}</span>}
        </div>
      </form>
      {jobId !== null && <FollowedJob key={jobId} id={jobId} />}
    </div>
  );
}

/** The body of the call. The payload stays text. */
function bodyOf(payload: string, { delay, deadline, tags }: RunTimes): string {
  const pairs = tags
    .split(/\s+/)
    .filter(tag => tag !== '')
    .map(tag => {
      const colon = tag.indexOf(':');
      return colon < 0 ? [tag, ''] : [tag.slice(0, colon), tag.slice(colon + 1)];
    });
  const options = {
    ...(delay.trim() && { delay: delay.trim() }),
    ...(deadline.trim() && { deadline: deadline.trim() }),
    ...(pairs.length > 0 && { tags: Object.fromEntries(pairs) }),
  };
  const members = Object.entries(options).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{"payload":${payload}${members.join('')}}`;
}
