// What the tests of the examples share: plugin modules loaded as they are, requests, and temporary trees of files.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach } from 'vitest';
import type { EventRequest, Json, JsonObject, Response } from '../../../runtime/host/api/plugin-api.ts';

export const projectRoot = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

/** `example/plugin/file`, the file in the plugin's directory. */
export function pluginFile(name: string): string {
  const [example = '', plugin = '', file = ''] = name.split('/');
  return join(projectRoot, 'examples', example, 'plugins', plugin, file);
}

/** Imports a plugin's module. The caller states its type, because the examples are JavaScript, which is checked separately. */
export async function importPlugin<Exports>(name: string): Promise<Exports> {
  return (await import(pluginFile(name))) as Exports;
}

export type HandleModule = { handle(request: EventRequest<Json>): Response };

export function makeRequest(
  payload: Json,
  given: { config?: JsonObject; context?: JsonObject } = {},
): EventRequest<Json> {
  const timestamp = '2026-01-01T00:00:00Z';
  const event = { type: 'api.trigger', payload, event_id: 'e', timestamp, source: 'test' };
  return {
    protocol: 2,
    job_id: 'j',
    attempt: 1,
    command: 'handle',
    config: given.config ?? {},
    state: {},
    payload: event,
    context: { ...given.context, pipeline: null, step_id: null, depth: 0 },
    event,
    deadline_at: '2026-01-01T00:01:00Z',
  };
}

/** Files by path: text, bytes, an object for JSON, or a link. */
export type Tree = { readonly [path: string]: string | Uint8Array | JsonObject | Link };
type Link = { readonly linkTo: string };

const made: string[] = [];

afterEach(() => {
  for (const directory of made.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** Creates these files in a temporary directory. A path that ends with `/` becomes an empty directory; links keep their target as given. */
export function makeTree(tree: Tree): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'headgate-examples-')));
  made.push(directory);
  for (const [path, content] of Object.entries(tree)) {
    const file = join(directory, path);
    mkdirSync(path.endsWith('/') ? file : dirname(file), { recursive: true });
    if (path.endsWith('/')) continue;
    if (typeof content === 'string' || content instanceof Uint8Array) writeFileSync(file, content);
    else if (typeof content['linkTo'] === 'string') symlinkSync(content['linkTo'], file);
    else writeFileSync(file, JSON.stringify(content));
  }
  return directory;
}

/** Runs a process plugin as a host does: a line on stdin, in its directory, hardly any environment. */
export function runPlugin(name: string, line: string): unknown {
  const file = pluginFile(name);
  const env = { PATH: process.env['PATH'] };
  const { status, stdout, stderr, error } = spawnSync(file, { cwd: dirname(file), env, input: line, encoding: 'utf8' });
  if (error || status !== 0 || stderr !== '') throw new Error(`${name} ended with ${status}: ${error ?? stderr}`);
  return JSON.parse(stdout);
}

/** The beginnings of texts by which licenses are known. */
export const texts = {
  MIT: `MIT License\n\nCopyright (c) 2019-2021 Someone\n\nPermission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction. The above copyright notice and this permission notice shall be included in all copies.\n`,
  ISC: `Copyright (c) 2011, Someone\n\nPermission to use, copy, modify, and/or distribute this software for any
purpose with or without fee is hereby granted, provided that the above
copyright notice and this permission notice appear in all copies.\n`,
  'BSD-2-Clause': `Redistribution and use in source and binary forms, with or without
modification, are permitted provided that the following conditions are met:\n`,
  'Apache-2.0': `                                 Apache License
                           Version 2.0, January 2004
                        http://www.apache.org/licenses/\n`,
  'GPL-3.0': `                    GNU GENERAL PUBLIC LICENSE
                       Version 3, 29 June 2007

 Copyright (C) 2007 Free Software Foundation, Inc. <https://fsf.org/>\n`,
  'MPL-2.0': 'Mozilla Public License Version 2.0\n==================================\n',
} as const;
