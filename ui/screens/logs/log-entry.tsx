// One log: how an attempt ended, its error and its error output; and, if asked for, what it returned.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Refusal, rawElements, rawMember, requestText } from '../../core/api.ts';
import { duration } from '../../core/format.ts';
import { href, queryText } from '../../core/router.ts';
import { Button, Code, JobId, Problem, Status, Time } from '../../parts/index.ts';
import { Highlight } from './highlight.tsx';

export type LogView = {
  readonly job_id: string;
  readonly log_id: string;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly attempt: number;
  readonly submitted_by: string;
  readonly created_at: string;
  readonly completed_at: string;
  readonly last_error?: string;
  readonly stderr?: string;
};

/** A text that scrolls must be reachable by keyboard. */
const scrolls = { tabIndex: 0 };
/** A longer text is cut until the user asks for all of it. */
const shownCharacters = 2_000;

export function LogEntry({ log, words, mayRead }: { log: LogView; words: string; mayRead: boolean }): JSX.Element {
  const [showsResponse, setShowsResponse] = useState(false);
  const { job_id: id, plugin, command, attempt, last_error: error, stderr } = log;
  const isRun = plugin === 'pipeline';
  const tookUs = (Date.parse(log.completed_at) - Date.parse(log.created_at)) * 1_000;
  const of = `of attempt ${attempt} of the job ${id}`;
  return (
    <li class="log">
      <div class="log-head">
        <Status status={log.status} />
        <a href={href(isRun ? 'pipeline' : 'plugin', isRun ? command : plugin)}>
          {isRun ? `pipeline ${command}` : `${plugin} ${command}`}
        </a>
        <JobId id={id} />
        {attempt > 1 && <span class="muted">attempt {attempt}</span>}
        <span class="log-when muted">
          {mayRead && (
            <Button
              kind="plain"
              pressed={showsResponse}
              onClick={() => setShowsResponse(!showsResponse)}
              label={`Response ${of}`}
              {...(words !== '' && { title: 'The words may have been found there' })}
            >
              Response
            </Button>
          )}
          <span title="From acceptance to the end of the attempt">{duration(tookUs)}</span>
          <Time at={log.completed_at} />
        </span>
      </div>
      {error && <LogText name={`Error ${of}`} text={error} words={words} kind="log-failure" />}
      {stderr && <LogText name={`Error output ${of}`} text={stderr} words={words} kind="log-stderr" />}
      {showsResponse && <Returned log={log} label={`Response ${of}`} />}
    </li>
  );
}

function LogText(props: { name: string; text: string; words: string; kind: string }): JSX.Element {
  const [isWhole, showWhole] = useState(false);
  const { name, text, words, kind } = props;
  const isCut = text.length > shownCharacters && !isWhole;
  return (
    <div class={kind}>
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
function Returned({ log, label }: { log: LogView; label: string }): JSX.Element {
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
  return shown === null ? <p class="muted">Loading…</p> : <Code text={shown} label={label} />;
}

async function responseOf({ job_id, log_id }: LogView): Promise<string | undefined> {
  const text = await requestText(`/job-logs${queryText({ job_id, include_result: 'true', limit: '200' })}`);
  const logs = rawElements(rawMember(text, 'logs') ?? '[]');
  const own = logs.find(log => JSON.parse(rawMember(log, 'log_id') ?? 'null') === log_id);
  return own && rawMember(own, 'result');
}
