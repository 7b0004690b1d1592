// The plugin host's process begins here. Inherited files are closed before any other module is loaded.
import { pipeFd } from '../wire/host-setup.ts';
import { closeInherited } from './inherited-files.ts';

closeInherited(pipeFd);
await import('./host-main.ts');
