// Payload, context and result of a job as text, as they were sent: integers keep their digits.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { act } from '../../core/actions.ts';
import { indented, Refusal, rawMember, requestText } from '../../core/api.ts';
import { copyText } from '../../core/clipboard.ts';
import { Button, Code, Loading, Problem, Section } from '../../parts/index.ts';
import { commandOf, curlOf, isAction, isSettled, type ShownJob, scriptOf } from './shown-job.ts';

/** Texts up to this length are indented. Longer ones are shown as they came. */
const indentedMax = 200_000;

export function JobValues({ job }: { job: ShownJob }): JSX.Element {
  const [isWhole, setWhole] = useState(false);
  const [text, setText] = useState<string | null>(null);
  const [error, setError] = useState<Refusal | null>(null);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const aborter = new AbortController();
    requestText(`/job/${job.job_id}${isWhole ? '?include=payload' : '?result=short'}`, aborter.signal).then(
      answer => {
        setText(answer);
        setError(null);
      },
      refusal => {
        if (aborter.signal.aborted) return;
        if (!(refusal instanceof Refusal)) throw refusal;
        setError(refusal);
      },
    );
    return () => aborter.abort();
  }, [job.job_id, job.status, isWhole, turn]);
  const problem = error && <Problem error={error} retry={() => setTurn(turn + 1)} />;
  if (text === null) return problem ?? <Loading rows={4} />;
  const payload = rawMember(text, 'payload');
  const output = rawMember(text, 'result');
  const context = rawMember(text, 'context');
  const isOmitted = rawMember(text, 'omitted')?.includes('"result"') === true;
  const hasEnded = isSettled({ status: JSON.parse(rawMember(text, 'status')!) });
  const isReadable = output !== undefined || isOmitted;
  if (!isReadable)
    return (
      <Section title="Payload and result">
        {problem}
        <p class="muted">This token may not read results.</p>
      </Section>
    );
  return (
    <div class="job-values">
      {problem}
      <Section
        title="Payload"
        actions={payload !== undefined && !isAction(job) && <CopyAs job={job} payload={payload} />}
      >
        {payload === undefined ? (
          <Button onClick={() => setWhole(true)}>The payload is large: load all</Button>
        ) : (
          <Code text={shown(payload)} label="Payload" />
        )}
      </Section>
      <Section title="Result">
        {output === undefined ? (
          <Button onClick={() => setWhole(true)}>The result is large: load all</Button>
        ) : output === 'null' ? (
          <p class="muted">{hasEnded ? 'The job ended without one.' : 'There is none yet.'}</p>
        ) : (
          <ResultText output={output} />
        )}
      </Section>
      {context !== '{}' && (
        <Section title="Context" note="the baggage of the run">
          {context === undefined ? (
            <Button onClick={() => setWhole(true)}>The context is large: load all</Button>
          ) : (
            <Code text={shown(context)} label="Context" />
          )}
        </Section>
      )}
    </div>
  );
}

function ResultText({ output }: { output: string }) {
  const result = rawMember(output, 'result') ?? 'null';
  const events = rawMember(output, 'events');
  const updates = rawMember(output, 'state_updates');
  return (
    <>
      {result === 'null' ? (
        <p class="muted">The plugin returned none.</p>
      ) : (
        <Code text={shown(result)} label="Result" />
      )}
      {events !== undefined && events !== '[]' && (
        <details>
          <summary>Events that it emitted</summary>
          <Code text={shown(events)} label="Events" />
        </details>
      )}
      {updates !== undefined && updates !== '{}' && (
        <details>
          <summary>Updates of the plugin’s state</summary>
          <Code text={shown(updates)} label="State updates" />
        </details>
      )}
    </>
  );
}

function shown(json: string): string {
  return json.length <= indentedMax ? indented(json) : json;
}

/** Buttons that copy the call of the job, in three forms. */
function CopyAs({ job, payload }: { job: ShownJob; payload: string }) {
  return (
    <>
      <CopyButton text={curlOf(job, location.origin, payload)} name="curl" />
      <CopyButton text={commandOf(job, payload)} name="command" />
      <CopyButton text={scriptOf(job, location.origin, payload)} name="JavaScript" />
    </>
  );
}

function CopyButton({ text, name }: { text: string; name: string }) {
  const copy = () =>
    act(`Copy as ${name}`, async () =>
      (await copyText(text)) ? 'It is on the clipboard.' : 'The browser does not let the page copy.',
    );
  return (
    <Button kind="plain" onClick={() => void copy()}>
      Copy as {name}
    </Button>
  );
}
