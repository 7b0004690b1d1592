// A new working configuration: main file, pipelines, and one example plugin.
import type { NewFile } from './files.ts';
import { newPlugin } from './plugin.ts';

const examplePlugin = 'greet';
export const examplePipeline = 'greet-all';
export const examplePayload = '{"people":["Ada","Grace"]}';

/** The files of a new configuration. `listen` is an address in the format of `api.listen`. */
export function newGateway(listen: string): NewFile[] {
  const main = `# The main file. headgate loads it and the files under include.
include: [plugins.yaml, pipelines.yaml]
service:
  name: headgate
  log_level: info
state:
  # Jobs, logs and the API token are kept here.
  path: ./data
  retention: { jobs: 30d }
api:
  # 127.0.0.1 is reachable from this machine only. The token in data/api-token has all rights, and is valid only while
  # auth.tokens is empty. "headgate token new NAME --scope SCOPE" prints an entry for auth.tokens.
  listen: ${JSON.stringify(listen)}
`;
  const plugins = `# Every directory below a root that contains a manifest.yaml is a plugin. "headgate plugin new NAME" creates one.
plugin_roots: [./plugins]
plugins:
  ${examplePlugin}:
    config: { greeting: good morning }
`;
  const pipelines = `# Greets each person in a job of its own, then everybody at once.
pipelines:
  - name: ${examplePipeline}
    input_schema:
      type: object
      required: [people]
      properties:
        people: { type: array, items: { type: string }, examples: [[Ada, Grace]] }
    on: people.arrived
    execution_mode: synchronous
    steps:
      - id: each
        uses: ${examplePlugin}
        foreach: payload.people
        with: { name: "{payload.item}" }
      - id: together
        uses: ${examplePlugin}
        join: all
        with: { name: everybody }
`;
  const inPlugin = newPlugin(examplePlugin, 'worker').files.map(file => {
    return { ...file, path: `plugins/${examplePlugin}/${file.path}` };
  });
  return [
    { path: 'config.yaml', text: main },
    { path: 'plugins.yaml', text: plugins },
    { path: 'pipelines.yaml', text: pipelines },
    { path: '.gitignore', text: '# State, including the API token.\n/data/\n' },
    ...inPlugin,
  ];
}
