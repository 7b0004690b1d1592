// The secrets of the tests of this process, and the forms in which each would be recognised where it must not be.
import { randomBytes } from 'node:crypto';

export type Form = { readonly form: string; readonly bytes: Buffer };
export type Secret = { readonly name: string; readonly forms: readonly Form[] };

/** A secret is recognised by this many of its first characters or bytes, so that one that was cut off is found too. */
const headMax = 24;
/** A text that is shorter, or has fewer different characters, could occur by chance. */
const headMin = 10;
const distinctMin = 6;

const watched = new Map<string, Secret>();

/** Makes a secret of visible ASCII that is new in each run. It contains its name, which identifies it wherever it turns up. */
export function canary(name: string): string {
  const value = `canary-${randomBytes(12).toString('hex')}-${name.replaceAll(/[^\w-]/g, '-')}`;
  watch(name, value);
  return value;
}

/** Makes all later sweeps of this process look for the value, unless it is so short or uniform that it could occur by chance. */
export function watch(name: string, value: string | Uint8Array): void {
  const head = typeof value === 'string' ? [...value].slice(0, headMax).join('') : Buffer.from(value.slice(0, headMax));
  if (head.length < headMin || new Set<string | number>(head).size < distinctMin) return;
  watched.set(Buffer.from(head).toString('hex'), { name, forms: formsOf(head) });
}

/** Each test file looks for its own secrets only, also where several files share a process. */
export function forgetSecrets(): void {
  watched.clear();
}

/** All secrets that sweeps look for. */
export function secrets(): readonly Secret[] {
  return [...watched.values()];
}

function formsOf(head: string | Buffer): Form[] {
  const bytes = Buffer.from(head as string);
  const hex = bytes.toString('hex');
  const coded = [0, 1, 2].map(shift => base64(bytes, shift));
  const forms: [form: string, text: string | Buffer][] = [
    ['plain', bytes],
    ['hex', hex],
    ['hex', hex.toUpperCase()],
    ...coded.map((text): [string, string] => ['base64', text]),
    ...coded.map((text): [string, string] => ['base64url', text.replaceAll('+', '-').replaceAll('/', '_')]),
  ];
  if (typeof head === 'string') {
    forms.push(['JSON', JSON.stringify(head).slice(1, -1)]);
    forms.push(['URL', encodeURIComponent(head)]);
    forms.push(['URL', String(new URLSearchParams([['', head]])).slice(1)]);
  } else forms.push(['numbers', head.join(',')]);
  const distinct = new Map<string, Form>();
  for (const [form, text] of forms) {
    const bytes = Buffer.from(text as string);
    const key = bytes.toString('latin1');
    if (!distinct.has(key)) distinct.set(key, { form, bytes });
  }
  return [...distinct.values()];
}

/** The base64 characters that depend on these bytes alone, if they begin `shift` bytes after the start of a group of three. */
function base64(bytes: Buffer, shift: number): string {
  const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
  return text.slice(Math.ceil((shift * 4) / 3), Math.floor(((shift + bytes.length) * 4) / 3));
}
