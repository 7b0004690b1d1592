// The frame around all screens: navigation, connection, theme, toasts, and the list of keys.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useKeys } from '../core/keys.ts';
import { go, href, place } from '../core/router.ts';
import { may, session } from '../core/session.ts';
import { toggleTimes } from '../core/times.ts';
import { Button, Empty, Loading, ManyDialog, Page } from '../parts/index.ts';
import { SignInScreen } from '../screens/sign-in/sign-in-screen.tsx';
import { type ScreenEntry, screens } from '../screens.ts';
import { Help } from './help.tsx';
import { Navigation } from './navigation.tsx';
import { Toasts } from './toasts.tsx';

export function Shell(): JSX.Element {
  if (session.value === null)
    return (
      <>
        <SignInScreen />
        <Toasts />
      </>
    );
  return <SignedIn key={session.value.token} />;
}

function SignedIn(): JSX.Element {
  const [helps, setHelps] = useState(false);
  const { screen, id } = place.value;
  const entry = screens.find(({ name, isOfOne }) => name === screen && (id !== null || !isOfOne));
  const goes = screens.flatMap(({ name, title, key }) =>
    key === undefined ? [] : [[`g ${key}`, { text: `go to ${title}`, run: () => go(href(name)) }] as const],
  );
  useKeys({
    ...Object.fromEntries(goes),
    'g r': { text: 'go to the list of runs', run: () => go(href('jobs', null, { plugin: 'pipeline' })) },
    t: { text: 'times: how long ago, or exact', run: toggleTimes },
    '?': { text: 'show the keys', run: () => setHelps(true) },
  });
  return (
    <div class="shell">
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Navigation current={screen} onHelp={() => setHelps(true)} />
      <div class="content">
        <Screen key={`${screen}/${id ?? ''}`} entry={entry} />
      </div>
      <Toasts />
      <ManyDialog />
      {helps && <Help onClose={() => setHelps(false)} />}
    </div>
  );
}

function Screen({ entry }: { entry: ScreenEntry | undefined }): JSX.Element {
  if (entry === undefined)
    return (
      <Page title="There is no such page">
        <a href={href('now')}>Go to Now</a>
      </Page>
    );
  const { scopes, screen } = entry;
  if (scopes !== undefined && !may(...scopes))
    return (
      <main class="page" id="main" tabIndex={-1}>
        <h1>{entry.title}</h1>
        <Empty title="This token may not see this page">It needs one of the scopes {scopes.join(', ')}, or *.</Empty>
      </main>
    );
  if (typeof screen === 'function') return <Loaded screen={screen} />;
  return <Lazy load={screen.load} />;
}

function Loaded({ screen: Content }: { screen: () => JSX.Element }): JSX.Element {
  return <Content />;
}

function Lazy({ load }: { load: () => Promise<() => JSX.Element> }): JSX.Element {
  const [content, setContent] = useState<{ screen: () => JSX.Element } | 'failed' | null>(null);
  const start = () => {
    setContent(null);
    load().then(
      screen => setContent({ screen }),
      () => setContent('failed'),
    );
  };
  useEffect(start, [load]);
  if (content === 'failed')
    return (
      <Page title="This page could not be loaded">
        The service may have been updated. <Button onClick={() => location.reload()}>Load again</Button>
      </Page>
    );
  return content === null ? <Loading /> : <Loaded screen={content.screen} />;
}
