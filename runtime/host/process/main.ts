// The process of a plugin host begins here. Inherited files are closed before host-main.ts is loaded.
import { fromHostFd } from '../wire/host-setup.ts';
import { closeInherited } from './inherited-files.ts';

closeInherited(fromHostFd);
await import('./host-main.ts');
