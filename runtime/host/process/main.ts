// The process of a plugin host begins here. Inherited files are closed before host-main.ts is loaded.
import { pipeFd } from '../wire/host-setup.ts';
import { closeInherited } from './inherited-files.ts';

closeInherited(pipeFd);
await import('./host-main.ts');
