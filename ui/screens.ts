// The screens of the dashboard, in the order of the navigation.
import type { JSX } from 'preact';
import { JobsScreen } from './screens/jobs/jobs-screen.tsx';
import { NowScreen } from './screens/now/now-screen.tsx';

export type ScreenEntry = {
  /** The first part of the URL: `#/jobs`. */
  readonly name: string;
  readonly title: string;
  /** The token needs one of these scopes, or `*`. Absent: any token may see the screen. */
  readonly scopes?: readonly string[];
  /** The key after `g` that goes to the screen. Absent: the screen is not in the navigation. */
  readonly key?: string;
  /** The screen shows one job, run, plugin or pipeline, which the URL must name. */
  readonly isOfOne?: true;
  /** The screen, or its module, which is loaded when the screen is first shown. */
  readonly screen: (() => JSX.Element) | { readonly load: () => Promise<() => JSX.Element> };
};

const jobScopes = ['jobs:ro', 'jobs:rw'];
const logScopes = ['jobs:logs:ro', ...jobScopes];
const pluginScopes = ['plugin:ro', 'plugin:rw'];
const controlScopes = ['control:ro', 'control:rw'];

export const screens: readonly ScreenEntry[] = [
  { name: 'now', title: 'Now', key: 'n', scopes: jobScopes, screen: NowScreen },
  { name: 'jobs', title: 'Jobs', key: 'j', scopes: jobScopes, screen: JobsScreen },
  {
    name: 'job',
    title: 'Job',
    isOfOne: true,
    scopes: ['jobs:status:ro', ...jobScopes],
    screen: { load: async () => (await import('./screens/job/job-screen.tsx')).JobScreen },
  },
  {
    name: 'run',
    title: 'Run',
    isOfOne: true,
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
    name: 'actions',
    title: 'Actions',
    key: 'a',
    scopes: controlScopes,
    screen: { load: async () => (await import('./screens/actions/actions-screen.tsx')).ActionsScreen },
  },
  {
    name: 'failures',
    title: 'Failures',
    key: 'f',
    scopes: jobScopes,
    screen: { load: async () => (await import('./screens/failures/failures-screen.tsx')).FailuresScreen },
  },
  {
    name: 'logs',
    title: 'Logs',
    key: 'l',
    scopes: logScopes,
    screen: { load: async () => (await import('./screens/logs/logs-screen.tsx')).LogsScreen },
  },
  {
    name: 'stopwatch',
    title: 'Stopwatch',
    key: 't',
    scopes: ['jobs:status:ro', 'jobs:rw'],
    screen: { load: async () => (await import('./screens/stopwatch/stopwatch-screen.tsx')).StopwatchScreen },
  },
  {
    name: 'plugins',
    title: 'Plugins',
    key: 'p',
    screen: { load: async () => (await import('./screens/plugins/plugins-screen.tsx')).PluginsScreen },
  },
  {
    name: 'plugin',
    title: 'Plugin',
    isOfOne: true,
    scopes: pluginScopes,
    screen: { load: async () => (await import('./screens/plugin/plugin-screen.tsx')).PluginScreen },
  },
  {
    name: 'pipelines',
    title: 'Pipelines',
    key: 'i',
    screen: { load: async () => (await import('./screens/pipelines/pipelines-screen.tsx')).PipelinesScreen },
  },
  {
    name: 'pipeline',
    title: 'Pipeline',
    isOfOne: true,
    screen: { load: async () => (await import('./screens/pipeline/pipeline-screen.tsx')).PipelineScreen },
  },
  {
    name: 'schedules',
    title: 'Schedules',
    key: 's',
    scopes: controlScopes,
    screen: { load: async () => (await import('./screens/schedules/schedules-screen.tsx')).SchedulesScreen },
  },
  {
    name: 'events',
    title: 'Events',
    key: 'e',
    screen: { load: async () => (await import('./screens/events/events-screen.tsx')).EventsScreen },
  },
  {
    name: 'vault',
    title: 'Vault',
    key: 'v',
    screen: { load: async () => (await import('./screens/vault/vault-screen.tsx')).VaultScreen },
  },
  {
    name: 'config',
    title: 'Configuration',
    key: 'c',
    screen: { load: async () => (await import('./screens/config/config-screen.tsx')).ConfigScreen },
  },
  {
    name: 'doctor',
    title: 'Doctor',
    key: 'd',
    scopes: ['system:ro', 'system:rw'],
    screen: { load: async () => (await import('./screens/doctor/doctor-screen.tsx')).DoctorScreen },
  },
];
