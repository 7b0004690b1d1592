// What a job does: a command of a plugin, a run of a pipeline, or an action over many jobs; and the page about it.
import { href } from '../core/router.ts';

/** As in lists of jobs and logs: the plugin of a run is `pipeline`, that of an action `headgate`. */
export function workOf(plugin: string, command: string): { readonly text: string; readonly href: string } {
  if (plugin === 'pipeline') return { text: `pipeline ${command}`, href: href('pipeline', command) };
  if (plugin === 'headgate') return { text: `action ${command}`, href: href('actions') };
  return { text: `${plugin} ${command}`.trim(), href: href('plugin', plugin) };
}
