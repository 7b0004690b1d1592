// Runs before each test file: forgets the secrets of earlier test files that ran in the same process.
import { forgetSecrets } from './canary.ts';

forgetSecrets();
