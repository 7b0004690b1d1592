// The keys of a webhook endpoint.
import { Type } from '../../runtime/schema-type.ts';
import * as field from './field.ts';
import { eventHeaderCharsMax, eventHeadersMax } from './webhook-event.ts';

const { optional } = field;

/** The server takes no header whose name has other signs (docs/http.md). */
const headerName = (description: string) =>
  field.text({ pattern: '^[A-Za-z0-9-]+$', expected: 'the name of a header: letters, digits and "-"', description });

export const endpointField = field.closedMap(
  {
    name: field.text({
      pattern: '^[A-Za-z0-9_.-]{1,128}$',
      expected: 'a name of letters, digits, "_", "-" and "."',
      description: 'The name of the endpoint; its events have the type `webhook.NAME`.',
    }),
    path: field.text({
      pattern: '^/webhook/[A-Za-z0-9._~/-]+$',
      expected: 'a path such as /webhook/github: it begins with /webhook/ and has no query',
      description: 'The path at which deliveries arrive. Example: `/webhook/github`.',
    }),
    plugin: optional(
      field.name(
        'The plugin whose command `handle` gets each delivery. An endpoint has this or `pipeline`. Default: none.',
      ),
    ),
    pipeline: optional(
      field.text({
        expected: 'the name of a pipeline',
        description:
          'The pipeline that each delivery starts, with the body as its payload. An endpoint has this or `plugin`. Default: none.',
      }),
    ),
    secret_ref: field.text({
      expected: 'the name of an entry of "tokens"',
      description: 'The name of the key in `tokens` that deliveries are signed with.',
    }),
    signature_header: optional(
      headerName(
        'The header that carries the signature, HMAC-SHA-256 in hex; `scheme` sets it. Default: none, so it is required without `scheme`. Example: `X-Hub-Signature-256`.',
      ),
    ),
    max_body_size: optional(field.size('The largest body of a delivery; a larger one gets 413. Default: `1MB`.')),
    scheme: optional(
      field.oneOf(
        ['standard-webhooks'],
        '`standard-webhooks` sets the headers, the timestamp and the id of that standard, and wants a key that begins with `whsec_`. Default: none.',
      ),
    ),
    timestamp_header: optional(
      headerName(
        'The header with the time in Unix seconds, which is signed before the body. Default: none, so the time of a delivery is not checked.',
      ),
    ),
    tolerance: optional(field.duration('How far the time of a delivery may be off, both ways. Default: `5m`.')),
    id_header: optional(
      headerName(
        'The header with the id of a delivery: the same id within 24 h makes no second job. Default: none, so each delivery makes a job. Example: `X-GitHub-Delivery`.',
      ),
    ),
    headers: optional(
      Type.Array(headerName('The name of a header, spelt as the event will have it.'), {
        maxItems: eventHeadersMax,
        expected: `a list of at most ${eventHeadersMax} names of headers`,
        description: `The headers of a delivery that its event has as \`headers\`: at most ${eventHeadersMax}, of at most ${eventHeaderCharsMax} characters each. They are not signed. Default: none. Example: \`[X-GitHub-Event]\`.`,
      }),
    ),
    event: optional(
      field.text({
        expected: 'the type of an event, such as "github.{headers.X-GitHub-Event}"',
        description:
          'The type of the event of a delivery; it may refer to `headers` and `payload`. Default: `webhook.` and the name of the endpoint. Example: `github.{headers.X-GitHub-Event}`.',
      }),
    ),
    big_integers: optional(
      field.oneOf(
        ['refuse', 'text'],
        'What becomes of a delivery with an integer beyond ±(2^53 − 1): `refuse` answers 400, `text` turns the integer into text. Default: `refuse`.',
      ),
    ),
  },
  'An endpoint that takes signed deliveries.',
);
