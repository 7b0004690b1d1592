// The logs of ended attempts: filters, and the full-text search of docs/search.md.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { counted } from '../../core/format.ts';
import { useKeys } from '../../core/keys.ts';
import { usePages } from '../../core/pages.ts';
import { place, queryText, setQuery } from '../../core/router.ts';
import { may } from '../../core/session.ts';
import {
  Button,
  Chips,
  Empty,
  Field,
  Loading,
  More,
  Page,
  Problem,
  RowList,
  Select,
  statusText,
} from '../../parts/index.ts';
import { LogDialog } from './log-dialog.tsx';
import { LogRow } from './log-row.tsx';
import type { LogView } from './log-view.ts';
import { SearchHelp } from './search-help.tsx';

type LogsAnswer = {
  readonly logs: readonly LogView[];
  readonly total: number;
  readonly unsearched?: number;
  readonly next_cursor?: string;
};

const statuses = ['succeeded', 'failed', 'timed_out', 'dead', 'cancelled'];
/** A page has few logs, because the service sends up to 64 KiB of error output with each. */
const pageSize = '20';
const statusOptions = [{ value: '', text: 'any' }, ...statuses.map(value => ({ value, text: statusText(value) }))];
/** The filters that have chips; the others have fields of their own. */
const further = ['job_id', 'submitted_by', 'from', 'to'] as const;
const filters = ['query', 'status', 'plugin', 'command', ...further] as const;
const noFilters = Object.fromEntries(filters.map(name => [name, undefined]));

export function LogsScreen(): JSX.Element {
  const { query } = place.value;
  const given = Object.fromEntries(filters.map(name => [name, query.get(name) ?? undefined]));
  const mayRead = may('jobs:result:ro', 'jobs:ro', 'jobs:rw');
  const words = mayRead ? (given['query'] ?? '') : '';
  const path = `/job-logs${queryText({ ...given, query: words, limit: pageSize })}`;
  // A search is expensive, so it is not repeated after each event.
  const live = words === '' ? { live: ['job.*'] } : {};
  const { first, pages, error, more, loadingMore, loading, reload } = usePages<LogsAnswer>(path, live);
  const logs = pages.flatMap(page => page.logs);
  const [opened, setOpened] = useState<LogView | null>(null);
  const isFiltered = Object.values(given).some(Boolean);
  return (
    <Page
      title="Logs"
      subtitle={
        first
          ? `${counted(first.total, 'attempt')} ${isFiltered ? 'match' : 'ended'}, newest first`
          : 'One record for each ended attempt'
      }
    >
      <SearchForm words={words} mayRead={mayRead} loading={loading} />
      <div class="filter-row">
        <Select
          label="Status"
          value={given['status'] ?? ''}
          options={statusOptions}
          onChange={status => setQuery({ status })}
        />
        <Field
          label="Plugin"
          placeholder="any"
          value={given['plugin'] ?? ''}
          onCommit={value => setQuery({ plugin: value.trim() })}
        />
        <Field
          label="Command"
          placeholder="any"
          value={given['command'] ?? ''}
          onCommit={value => setQuery({ command: value.trim() })}
        />
        {isFiltered && (
          <Button kind="plain" onClick={() => setQuery(noFilters)}>
            Clear
          </Button>
        )}
      </div>
      <Chips
        items={further.flatMap(name => (given[name] ? [{ name, value: given[name] }] : []))}
        onRemove={name => setQuery({ [name]: undefined })}
      />
      {first?.unsearched !== undefined && first.unsearched > 0 && (
        <p class="logs-note" role="status">
          {counted(first.unsearched, 'recent log')} could not be searched yet.{' '}
          <Button onClick={reload}>Search again</Button>
        </p>
      )}
      {error && <Problem error={error} retry={reload} />}
      {first === undefined ? (
        !error && <Loading rows={8} />
      ) : logs.length === 0 ? (
        <Empty title={isFiltered ? 'No log matches' : 'No attempt has ended'}>
          {isFiltered
            ? 'Every word must occur. Use fewer words, a beginning such as conn*, or remove a filter.'
            : 'Run a command of a plugin: its error output, messages and result appear here.'}
        </Empty>
      ) : (
        <RowList
          label="Logs"
          rows={logs}
          rowKey={log => log.log_id}
          onOpen={setOpened}
          rowClass={() => 'log'}
          render={log => <LogRow log={log} words={words} onOpen={() => setOpened(log)} />}
        />
      )}
      {more && <More onMore={more} loading={loadingMore} />}
      {opened && <LogDialog log={opened} words={words} mayRead={mayRead} onClose={() => setOpened(null)} />}
    </Page>
  );
}

function SearchForm({ words, mayRead, loading }: { words: string; mayRead: boolean; loading: boolean }): JSX.Element {
  const [text, setText] = useState(words);
  const [shown, setShown] = useState(words);
  // The URL was changed elsewhere, for example by the back button of the browser.
  if (shown !== words) {
    setShown(words);
    setText(words);
  }
  const focus = () => document.querySelector<HTMLInputElement>('.logs-search input')?.focus();
  useKeys({ '/': { text: 'search', run: focus } });
  return (
    <form
      class="logs-search"
      onSubmit={event => {
        event.preventDefault();
        setQuery({ query: text.trim() });
      }}
    >
      <Field
        label="Search errors, output, messages and results"
        type="search"
        value={text}
        onInput={setText}
        placeholder={'connection refused   "connection refused"   conn*'}
        class="field-wide"
        {...(!mayRead && { hint: 'The token may not search: it needs jobs:result:ro, jobs:ro or jobs:rw.' })}
      />
      <Button kind="primary" type="submit" disabled={!mayRead}>
        {loading && words !== '' ? 'Searching…' : 'Search'}
      </Button>
      <SearchHelp />
    </form>
  );
}
