// The navigation: links to the screens and, at its end, the state of the connection and the buttons for the theme, the times, the keys and
// signing out.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isReachable } from '../core/api.ts';
import { connection } from '../core/live.ts';
import { held } from '../core/resource.ts';
import { href } from '../core/router.ts';
import { may, session, signOut } from '../core/session.ts';
import { nextTheme, theme } from '../core/theme.ts';
import { timesAreExact, toggleTimes } from '../core/times.ts';
import { screens } from '../screens.ts';

const connectionTexts = {
  live: 'Live',
  connecting: 'Connecting…',
  lost: 'Connection lost, trying again',
  off: 'Updated every 5 s',
} as const;

export function Navigation({ current, onHelp }: { current: string; onHelp: () => void }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const shown = screens.filter(({ key, scopes }) => key !== undefined && (scopes === undefined || may(...scopes)));
  return (
    <header class="nav" data-open={isOpen}>
      <a class="brand" href={href('now')}>
        <span class="brand-mark" aria-hidden="true" />
        headgate
      </a>
      <button
        type="button"
        class="nav-toggle"
        aria-expanded={isOpen}
        aria-controls="nav-links"
        onClick={() => setOpen(!isOpen)}
      >
        Menu
      </button>
      <nav id="nav-links" class="nav-links" aria-label="Screens">
        {shown.map(({ name, title, key }) => (
          <a
            key={name}
            href={href(name)}
            aria-current={name === current ? 'page' : undefined}
            title={`g ${key}`}
            onClick={() => setOpen(false)}
          >
            {title}
          </a>
        ))}
      </nav>
      <div class="nav-end">
        <Connection />
        <div class="nav-tools">
          <button type="button" onClick={nextTheme} title="Colours: as the system, light, dark">
            Theme: {theme.value}
          </button>
          <button type="button" onClick={toggleTimes} title="How long ago, or exactly (t)">
            Times: {timesAreExact.value ? 'exact' : 'relative'}
          </button>
          <button type="button" onClick={onHelp} title="Keys (?)">
            Keys
          </button>
          <button
            type="button"
            onClick={() => void signOut()}
            title={`Signed in as ${session.value?.name ?? 'a token without a name'}`}
          >
            Sign out
          </button>
        </div>
      </div>
    </header>
  );
}

/** The state of the stream of events; a click stops and resumes updates. */
function Connection(): JSX.Element {
  const now = isReachable.value ? connection.value : 'lost';
  const state = held.value ? 'held' : now;
  const text = held.value ? 'Updates stopped' : connectionTexts[now];
  return (
    <button
      type="button"
      class={`connection connection-${state}`}
      aria-pressed={held.value}
      title={held.value ? 'Resume updates' : 'Stop updates'}
      onClick={() => {
        held.value = !held.value;
      }}
    >
      <span class="connection-dot" aria-hidden="true" />
      {text}
    </button>
  );
}
