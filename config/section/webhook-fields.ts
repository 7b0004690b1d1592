// The configuration keys of a webhook endpoint.
import { Type } from '../../runtime/schema-type.ts';
import * as field from './field.ts';
import { eventHeaderCharsMax, eventHeadersMax } from './webhook-event.ts';

/** A field for the name of a header. uWebSockets.js accepts only these characters in such names (docs/http.md). */
const headerName = (description: string) =>
  field.text('the name of a header: letters, digits and "-"', description, { pattern: '^[A-Za-z0-9-]+$' });

export const endpointField = field.closedMap(
  {
    name: field.text(
      'a name of letters, digits, "_", "-" and "."',
      'The name of the endpoint; its events have the type `webhook.NAME`.',
      { pattern: '^[A-Za-z0-9_.-]{1,128}$' },
    ),
    path: field.text(
      'a path such as /webhook/github: it begins with /webhook/ and has no query',
      'The path at which deliveries arrive. Example: `/webhook/github`.',
      { pattern: '^/webhook/[A-Za-z0-9._~/-]+$' },
    ),
    plugin: field.name(
      'The plugin whose command `handle` receives each delivery. An endpoint has either this or `pipeline`. Default: none.',
    ),
    pipeline: field.text(
      'the name of a pipeline',
      'The pipeline that each delivery starts, with the body as payload. An endpoint has either this or `plugin`. Default: none.',
    ),
    secret_ref: field.text(
      'the name of an entry of "tokens"',
      'The name of the key in `tokens` with which deliveries are signed.',
    ),
    signature_header: headerName(
      'The header with the signature (HMAC-SHA-256 in hexadecimal). Default: that of `scheme`; required without `scheme`. Example: `X-Hub-Signature-256`.',
    ),
    max_body_size: field.size('The largest body of a delivery; a larger one gets 413. Default: `1MB`.'),
    scheme: field.oneOf(
      ['standard-webhooks'],
      '`standard-webhooks` uses the headers, the timestamp and the id of that standard, and requires a key that begins with `whsec_`. Default: none.',
    ),
    timestamp_header: headerName(
      'The header with the time in Unix seconds, which is signed together with the body. Default: none, so the time of a delivery is not checked.',
    ),
    tolerance: field.duration('The maximum deviation of the time of a delivery, in both directions. Default: `5m`.'),
    id_header: headerName(
      'The header with the id of a delivery. A repeated id within 24 h creates no second job. Default: none, so each delivery creates a job. Example: `X-GitHub-Delivery`.',
    ),
    headers: Type.Array(headerName('The name of a header. The event has it in this spelling.'), {
      maxItems: eventHeadersMax,
      expected: `a list of at most ${eventHeadersMax} names of headers`,
      description: `The headers of a delivery that are copied into its event: at most ${eventHeadersMax}, with at most ${eventHeaderCharsMax} characters each. They are not signed. Default: none. Example: \`[X-GitHub-Event]\`.`,
    }),
    event: field.text(
      'the type of an event, such as "github.{headers.X-GitHub-Event}"',
      'The type of the event; it may refer to `headers` and `payload`. Default: `webhook.` and the name of the endpoint. Example: `github.{headers.X-GitHub-Event}`.',
    ),
    big_integers: field.oneOf(
      ['refuse', 'text'],
      'How to treat an integer beyond ±(2^53 − 1): `refuse` answers 400, `text` converts it to text. Default: `refuse`.',
    ),
  },
  'An endpoint that accepts signed deliveries.',
  { required: ['name', 'path', 'secret_ref'], oneOf: field.eitherOf(['plugin', 'pipeline']) },
);
