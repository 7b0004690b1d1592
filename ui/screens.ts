// The screens of the dashboard, in the order of the navigation.
import type { JSX } from 'preact';
import { JobsScreen } from './screens/jobs/jobs-screen.tsx';
import { NowScreen } from './screens/now/now-screen.tsx';

export type ScreenEntry = {
  /** The first part of the URL: `#/jobs`. */
  readonly name: string;
  readonly title: string;
  /** The token needs one of these scopes, or `*`. Without: any token. */
  readonly scopes?: readonly string[];
  /** The key after `g` that goes to the screen. Without: the screen is not in the navigation. */
  readonly key?: string;
  /** The screen, or its module, which is loaded when the screen is first shown. */
  readonly screen: (() => JSX.Element) | { readonly load: () => Promise<() => JSX.Element> };
};

const jobScopes = ['jobs:ro', 'jobs:rw'];

export const screens: readonly ScreenEntry[] = [
  { name: 'now', title: 'Now', key: 'n', scopes: jobScopes, screen: NowScreen },
  { name: 'jobs', title: 'Jobs', key: 'j', scopes: jobScopes, screen: JobsScreen },
  {
    name: 'job',
    title: 'Job',
    scopes: ['jobs:status:ro', ...jobScopes],
    screen: { load: async () => (await import('./screens/job/job-screen.tsx')).JobScreen },
  },
  {
    name: 'run',
    title: 'Run',
    scopes: ['jobs:tree:ro', ...jobScopes],
    screen: { load: async () => (await import('./screens/run/run-screen.tsx')).RunScreen },
  },
  {
    name: 'compare',
    title: 'Compare runs',
    scopes: jobScopes,
    screen: { load: async () => (await import('./screens/compare/compare-screen.tsx')).CompareScreen },
  },
  {
    name: 'stopwatch',
    title: 'Stopwatch',
    key: 't',
    scopes: ['jobs:status:ro', 'jobs:rw'],
    screen: { load: async () => (await import('./screens/stopwatch/stopwatch-screen.tsx')).StopwatchScreen },
  },
];
