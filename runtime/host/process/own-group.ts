// The place of a plugin host among the processes of the system.
import { closeSync, openSync } from 'node:fs';
import { systemCall } from '../../system-library.ts';

/** Of Linux, on every processor that Node runs on: the caller gives up its terminal. */
const TIOCNOTTY = 0x5422;

/**
 * Makes this process, which shares its session with the service, the leader of a group, and takes the terminal from it: so no key
 * that is pressed there, and no plugin that writes there, reaches further than where hosts have sessions of their own. Throws when
 * the system refuses. For Linux.
 */
export function leadOwnGroup(): void {
  systemCall('int setpgid(int pid, int group)')(0, 0);
  const terminal = openTerminal();
  if (terminal === null) return;
  systemCall('int ioctl(int fd, unsigned long request, int unused)')(terminal, TIOCNOTTY, 0);
  closeSync(terminal);
}

/** Null: there is none, as where a service is started by the system or in a container. */
function openTerminal(): number | null {
  try {
    return openSync('/dev/tty', 'r');
  } catch {
    return null;
  }
}
