// The routes of the dashboard's files. Their paths depend on the configuration.
import type { Config } from '../../config/config.ts';
import type { Headers } from '../answer.ts';
import { problem } from '../problem.ts';
import { type Answer, type HttpCall, open, type Route, route } from '../route.ts';
import { uiSessionRoutes } from '../routes/ui-sessions.ts';
import { pageAt, pageName, type UiFile, uiFiles } from './files.ts';

const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'";

/** An update changes the names of the page's files, so clients must not reuse an old page. */
const pageHeaders: Headers = [
  ['Cache-Control', 'no-store'],
  ['Content-Security-Policy', contentSecurityPolicy],
  ['Referrer-Policy', 'no-referrer'],
];
/** The name of a file changes with its contents. */
const fileHeaders: Headers = [['Cache-Control', 'public, max-age=31536000, immutable']];

/**
 * Returns the routes of the API as the setting `ui.enabled` requires: with the routes of the dashboard's files if the dashboard is enabled, otherwise
 * without the routes of its sessions.
 */
export function withUi(routes: readonly Route[], { ui }: Pick<Config, 'ui'>): readonly Route[] {
  return ui.enabled ? [...routes, ...fileRoutes(ui.path)] : routes.filter(one => !uiSessionRoutes.includes(one));
}

function fileRoutes(path: string): Route[] {
  const page = pageAt(path);
  const getPage = (at: string) =>
    route({
      ...{ method: 'GET', path: at, section: 'Dashboard', summary: 'Returns the page of the dashboard.', access: open },
      answers: { 200: { description: 'The page.', schema: null } },
      handle: call => answerFile(call, page, pageHeaders),
    });
  const getFile = route({
    ...{ method: 'GET', path: `${path}/{file}`, section: 'Dashboard', access: open },
    summary: 'Returns a file of the dashboard.',
    answers: { 200: { description: 'The file.', schema: null } },
    find: ({ params }) => {
      const name = (params as { readonly file: string }).file;
      const file = name === pageName ? undefined : uiFiles().get(name);
      return file ?? problem('unknown_route', 'there is nothing at this path');
    },
    handle: call => answerFile(call, call.found as UiFile, fileHeaders),
  });
  return [getPage(path), getPage(`${path}/`), getFile];
}

function answerFile(call: Pick<HttpCall, 'headerList'>, file: UiFile, headers: Headers): Answer {
  const accepted = call.headerList('accept-encoding');
  const coding = accepts(accepted, 'br') ? 'br' : accepts(accepted, 'gzip') ? 'gzip' : null;
  const body = coding === 'br' ? file.brotli : coding === 'gzip' ? file.gzip : file.plain;
  const own: Headers = [...headers, ['Vary', 'Accept-Encoding']];
  const coded: Headers = coding === null ? own : [...own, ['Content-Encoding', coding]];
  return { kind: 'json', status: 200, body, contentType: file.type, headers: coded };
}

/** Whether Accept-Encoding names this coding, with a weight other than 0. */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some(part => {
    const [name = '', ...parameters] = part.split(';').map(text => text.trim().toLowerCase());
    return name === coding && !parameters.some(parameter => /^q=0(\.0*)?$/.test(parameter));
  });
}
