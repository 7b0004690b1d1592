// The common part of the commands that work on the vault in the state directory: finds the vault, and reports why a command failed.
import { unlessHeld } from '../backups/stopped.ts';
import { readConfiguration } from '../configuration.ts';
import { exitStatus } from '../exit-status.ts';
import { failure } from '../failure.ts';
import type { Io } from '../io.ts';
import type { Output } from '../output.ts';
import type { VaultLocation } from './offline.ts';

/** Runs `work` on the vault of the configuration. Throws a `CommandFailure` if another process has locked the state directory. */
export async function withVault<T>(
  config: string | undefined,
  io: Io,
  work: (place: VaultLocation) => T | Promise<T>,
): Promise<T> {
  const { placeOf } = await import('./offline.ts');
  const place = placeOf(await readConfiguration(config, io), io.env);
  return unlessHeld(place.statePath, 'the service must be stopped first', async () => work(place));
}

/**
 * Prints an admin token before the token takes effect. If that fails, throws a `CommandFailure`; its message ends with `otherwise`, which
 * says what state remains.
 */
export async function showToken(out: Output, document: object, token: string, otherwise: string): Promise<void> {
  try {
    await out.keepAnswer(document, () => [token]);
  } catch (error) {
    const detail = `the admin token could not be printed (${(error as Error).message}): ${otherwise}`;
    throw failure(exitStatus.io, 'io_error', 'The admin token could not be printed', detail, error);
  }
}
