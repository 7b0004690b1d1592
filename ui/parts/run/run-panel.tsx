// Runs a command or a pipeline: the form for the payload, times and tags, and below it the job that was started.
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { Refusal, send, withMember } from '../../core/api.ts';
import { freeze } from '../../core/resource.ts';
import { href } from '../../core/router.ts';
import { Button, Field, Problem } from '../index.ts';
import { FollowedJob } from './followed-job.tsx';
import type { PayloadSchema } from './payload-fields.ts';
import { PayloadForm } from './payload-form.tsx';
import { usePayload } from './use-payload.ts';

/** `delay`, `expires`, `deadline`: such as `10m`. `tags`: `key:text`, several separated by blanks. */
type RunTimes = {
  readonly delay: string;
  readonly expires: string;
  readonly deadline: string;
  readonly tags: string;
};

const noTimes: RunTimes = { delay: '', expires: '', deadline: '', tags: '' };

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
  const editor = usePayload(schema);
  const [times, setTimes] = useState(noTimes);
  const [problem, setProblem] = useState<Refusal | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [jobId, setJobId] = useState<string | null>(null);
  const release = useRef<(() => void) | null>(null);
  const hold = () => {
    release.current ??= freeze();
  };
  const letGo = () => {
    release.current?.();
    release.current = null;
  };
  useEffect(() => letGo, []);

  const run = async () => {
    const payload = editor.read();
    if (payload === null) return;
    setBusy(true);
    setProblem(null);
    await act(`Run ${name}`, async () => {
      try {
        const answer = await send('POST', `${path}${path.startsWith('/pipeline/') ? '?async=true' : ''}`, {
          bodyText: bodyOf(payload, times),
        });
        const { job_id } = JSON.parse(answer) as { job_id: string };
        setJobId(job_id);
        // Ends the freeze of the form, so that the status of the job is updated although the focus stays in the form.
        letGo();
        return { text: 'The job is on disk.', link: { text: 'Show the job', href: href('job', job_id) } };
      } catch (error) {
        // An error that is shown beside its field is not shown again below the form.
        if (error instanceof Refusal && !editor.refuse(error)) setProblem(error);
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
        // Updates wait while the form has the focus, so that it does not change while the user edits it.
        onFocusIn={hold}
        onInput={hold}
        onFocusOut={event => {
          if (!event.currentTarget.contains(event.relatedTarget as Node | null)) letGo();
        }}
        onSubmit={event => {
          event.preventDefault();
          void run();
        }}
      >
        <PayloadForm editor={editor} />
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
              label="Expires"
              value={times.expires}
              onInput={expires => setTimes({ ...times, expires })}
              placeholder="1h"
              hint="Ends as cancelled if it has not started by then."
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
function bodyOf(payload: string, { delay, expires, deadline, tags }: RunTimes): string {
  const pairs = tags
    .split(/\s+/)
    .filter(tag => tag !== '')
    .map(tag => {
      const colon = tag.indexOf(':');
      return colon < 0 ? [tag, ''] : [tag.slice(0, colon), tag.slice(colon + 1)];
    });
  const options = {
    ...(delay.trim() && { delay: delay.trim() }),
    ...(expires.trim() && { expires: expires.trim() }),
    ...(deadline.trim() && { deadline: deadline.trim() }),
    ...(pairs.length > 0 && { tags: Object.fromEntries(pairs) }),
  };
  return withMember(options, 'payload', payload);
}
