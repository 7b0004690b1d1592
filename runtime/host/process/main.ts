// The process of a plugin host begins here. It closes inherited files before it loads any other module.
import { pipeFd } from '../wire/host-setup.ts';
import { closeInherited } from './inherited-files.ts';

closeInherited(pipeFd);
await import('./host-main.ts');
