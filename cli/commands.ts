// All commands, in the order in which help and reference list them.
import type { CommandDeclaration } from './command.ts';
import { configCheck } from './commands/config-check.ts';
import { configLock } from './commands/config-lock.ts';
import { startCommand } from './commands/start.ts';
import { versionCommand } from './commands/version.ts';

export const commands: readonly CommandDeclaration[] = [startCommand, configCheck, configLock, versionCommand];
