// How queries of the search of logs are written.
import type { JSX } from 'preact';

const forms = [
  ['connection refused', 'both words, anywhere, in any order'],
  ['"connection refused"', 'the words next to each other, in this order'],
  ['conn*', 'words that begin with this; also in quotes'],
  ['host-7', 'its parts next to each other: only letters and digits make words'],
] as const;

export function SearchHelp(): JSX.Element {
  return (
    <details class="search-help">
      <summary>How to search</summary>
      <dl>
        {forms.map(([query, meaning]) => (
          <div key={query}>
            <dt>
              <code>{query}</code>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">Every word must occur. Case and accents do not matter, and there are no operators.</p>
    </details>
  );
}
