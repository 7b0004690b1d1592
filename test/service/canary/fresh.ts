// Runs before each test file, also where several files share a process.
import { forgetSecrets } from './canary.ts';

forgetSecrets();
