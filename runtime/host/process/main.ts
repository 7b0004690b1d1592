// The plugin host's process begins here: nothing else is loaded before what was inherited is closed.
import { pipeFd } from '../wire/host-setup.ts';
import { closeInherited } from './inherited-files.ts';

closeInherited(pipeFd);
await import('./host-main.ts');
