// Starts the dashboard.
import './core/theme.ts';
import { render } from 'preact';
import { resumeSession } from './core/session.ts';
import { Shell } from './shell/shell.tsx';

await resumeSession();
render(<Shell />, document.getElementById('app')!);
