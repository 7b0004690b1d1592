// One log as a whole: how the attempt ended, its error and its error output; and, if asked for, what it returned.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refusal, rawElements, rawMember, requestText } from '../../core/api.ts';
import { duration } from '../../core/format.ts';
import { queryText } from '../../core/router.ts';
import { Button, Code, Dialog, JobId, Problem, Status, Time } from '../../parts/index.ts';
import { workOf } from '../../parts/work.ts';
import { Highlight } from './highlight.tsx';
import { type LogView, logUs } from './log-view.ts';

/** A text that scrolls must be reachable by keyboard. */
const scrolls = { tabIndex: 0 };
/** A longer text is cut until the user asks for all of it. */
const shownCharacters = 20_000;

export function LogDialog(props: { log: LogView; words: string; mayRead: boolean; onClose: () => void }): JSX.Element {
  const { log, words, mayRead, onClose } = props;
  const [showsResponse, setShowsResponse] = useState(false);
  const { job_id: id, attempt, last_error: error, stderr } = log;
  return (
    <Dialog title={`${workOf(log.plugin, log.command).text}, attempt ${attempt}`} onClose={onClose} wide>
      <p class="log-facts">
        <Status status={log.status} />
        <JobId id={id} />
        <span title="From acceptance to the end of the attempt">{duration(logUs(log))}</span>
        <Time at={log.completed_at} />
        {mayRead && (
          <Button
            pressed={showsResponse}
            onClick={() => setShowsResponse(!showsResponse)}
            {...(words !== '' && { title: 'The words may have been found there' })}
          >
            Response
          </Button>
        )}
      </p>
      {error && <LogText name="Error" text={error} words={words} kind="log-failure" />}
      {stderr && <LogText name="Error output" text={stderr} words={words} kind="log-stderr" />}
      {!error && !stderr && <p class="muted">The attempt has no error and no error output.</p>}
      {showsResponse && (
        <section aria-label="Response">
          <h3>Response</h3>
          <Returned log={log} />
        </section>
      )}
    </Dialog>
  );
}

function LogText(props: { name: string; text: string; words: string; kind: string }): JSX.Element {
  const [isWhole, showWhole] = useState(false);
  const { name, text, words, kind } = props;
  const isCut = text.length > shownCharacters && !isWhole;
  return (
    <div class={kind}>
      <h3>{name}</h3>
      <section class="log-text" aria-label={name} {...scrolls}>
        <pre>
          <Highlight text={isCut ? text.slice(0, shownCharacters) : text} words={words} />
        </pre>
      </section>
      {isCut && (
        <Button kind="plain" onClick={() => showWhole(true)}>
          Show all
        </Button>
      )}
    </div>
  );
}

/** The response of the plugin, as it was sent. */
function Returned({ log }: { log: LogView }): JSX.Element {
  const [shown, setShown] = useState<string | Refusal | null>(null);
  const read = () => {
    setShown(null);
    responseOf(log).then(
      text => setShown(text ?? 'The attempt has no response.'),
      error => {
        if (!(error instanceof Refusal)) throw error;
        setShown(error);
      },
    );
  };
  useEffect(read, []);
  if (shown instanceof Refusal) return <Problem error={shown} retry={read} />;
  return shown === null ? <p class="muted">Loading…</p> : <Code text={shown} label="The response of the plugin" />;
}

/** The request selects the attempt by the time of its end, because the responses of the job's other attempts may be large. */
async function responseOf({ job_id, log_id, completed_at: at }: LogView): Promise<string | undefined> {
  const text = await requestText(`/job-logs${queryText({ job_id, from: at, to: at, include_result: 'true' })}`);
  const logs = rawElements(rawMember(text, 'logs') ?? '[]');
  const own = logs.find(log => JSON.parse(rawMember(log, 'log_id') ?? 'null') === log_id);
  return own && rawMember(own, 'result');
}
