// file: reads, writes and lists files below the root that its config names. No path leaves the root, and no link is followed.
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { namesOf, refusal, within } from './directory.js';

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants;
/** Matches text in base64. `Buffer.from` would silently skip all other characters. */
const base64Shape = /^[A-Za-z0-9+/]*={0,2}$/;
const bytesDefault = 2 ** 20;
const bytesMax = 8 * 2 ** 20;
export const entriesMax = 10_000;
/** The minimum size of the buffer for a file, because a file can be longer than its reported size. */
const firstBytes = 4096;
/** The system errors that a retry would meet again, each with its description. All other errors may be temporary. */
const reasons = new Map([
  ['ENOENT', 'does not exist'],
  ['ENOTDIR', 'has a parent that is not a directory; links are not followed'],
  ['ELOOP', 'is a link; links are not followed'],
  ['EISDIR', 'is a directory'],
  ['EEXIST', 'exists already'],
  ['EACCES', 'is not accessible to the service'],
  ['EPERM', 'is not accessible to the service'],
  ['EROFS', 'cannot be written'],
  ['ENAMETOOLONG', 'is too long'],
]);

/** @typedef {import('../../runtime/host/api/plugin-api.ts').CommandHandler} Handler */
/** @typedef {{ path?: string, text?: string, base64?: string, overwrite?: boolean }} Order */
/** @typedef {{ root: string, bytesMax: number, isWritable: boolean }} Settings */

/** @type {Handler} */
export function read({ payload, config }) {
  const { root, bytesMax: most } = readSettings(config);
  const order = /** @type {Order} */ (payload);
  return answer(order, names => {
    const name = /** @type {string} */ (names.pop());
    const bytes = within(root, names, { make: false }, directory => {
      // Without O_NONBLOCK, opening a pipe waits for a writer.
      const fd = fs.openSync(directory.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
      try {
        return readUpTo(fd, most);
      } finally {
        fs.closeSync(fd);
      }
    });
    return { path: order.path, size: bytes.length, ...contentOf(bytes) };
  });
}

/** @type {Handler} */
export function write({ payload, config }) {
  const { root, bytesMax: most, isWritable } = readSettings(config);
  if (!isWritable) throw refusal('config.writable must be true to write files');
  const order = /** @type {Order} */ (payload);
  const { text, base64 = '' } = order;
  // A single character after the last group of four encodes no byte.
  if (!base64Shape.test(base64) || base64.replace(/=+$/, '').length % 4 === 1)
    throw refusal('base64 must contain only A-Z a-z 0-9 + /, with = at the end');
  const bytes = text === undefined ? Buffer.from(base64, 'base64') : Buffer.from(text);
  if (bytes.length > most) throw refusal(`the content has ${bytes.length} bytes; config.max_bytes allows ${most}`);
  return answer(order, names => {
    const name = /** @type {string} */ (names.pop());
    within(root, names, { make: true }, directory => {
      const draft = directory.at(`.${randomBytes(8).toString('hex')}.tmp`);
      const fd = fs.openSync(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o644);
      try {
        fs.writeFileSync(fd, bytes);
        fs.fsyncSync(fd);
        // Atomic: a reader sees the old file or the new one. A link of that name is replaced, not followed.
        if (order.overwrite === false) fs.linkSync(draft, directory.at(name));
        else fs.renameSync(draft, directory.at(name));
        fs.fsyncSync(directory.fd);
      } finally {
        fs.closeSync(fd);
        fs.rmSync(draft, { force: true });
      }
    });
    return { path: order.path, size: bytes.length };
  });
}

/** @type {Handler} */
export function list({ payload, config }) {
  const { root } = readSettings(config);
  const order = /** @type {Order} */ (payload);
  return answer(order, names =>
    within(root, names, { make: false }, directory => {
      const found = fs.readdirSync(directory.at()).sort();
      const entries = found.slice(0, entriesMax).flatMap(name => {
        const stat = fs.lstatSync(directory.at(name), { throwIfNoEntry: false });
        return stat === undefined ? [] : [{ name, kind: kindOf(stat), size: stat.size }];
      });
      return { path: order.path ?? '', entries, is_cut: found.length > entriesMax };
    }),
  );
}

/**
 * @param {Order} order
 * @param {(names: string[]) => { [key: string]: unknown }} work
 * @returns {import('../../runtime/host/api/plugin-api.ts').Response}
 */
function answer({ path: asked = '' }, work) {
  try {
    return { result: work(asked === '' ? [] : namesOf(asked)) };
  } catch (error) {
    const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
    const reason = reasons.get(code);
    if (reason !== undefined) throw refusal(`${asked || 'the root'} ${reason}`);
    // The rest of the system's message contains internal paths.
    throw code === '' ? error : new Error(`${asked}: ${code}: ${message.split(',')[0]?.replace(`${code}: `, '')}`);
  }
}

/** @param {number} fd @param {number} most */
function readUpTo(fd, most) {
  const stat = fs.fstatSync(fd);
  if (stat.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
  if (!stat.isFile()) throw refusal('the path is not a regular file');
  // The reported size is a hint: it is 0 for generated files, such as those in /proc, and a file can grow.
  let bytes = Buffer.alloc(Math.min(Math.max(stat.size, firstBytes), most) + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length <= most; length += count) {
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(2 * length, most + 1));
    count = fs.readSync(fd, bytes, length, bytes.length - length, null);
  }
  if (length > most) throw refusal(`the file has more than ${most} bytes, which config.max_bytes allows`);
  return bytes.subarray(0, length);
}

/** @param {Buffer} bytes */
function contentOf(bytes) {
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: bytes.toString('base64') };
  }
}

/** @param {fs.Stats} stat */
function kindOf(stat) {
  return stat.isFile() ? 'file' : stat.isDirectory() ? 'directory' : stat.isSymbolicLink() ? 'link' : 'other';
}

/** @param {import('../../runtime/host/api/plugin-api.ts').JsonObject} config @returns {Settings} */
function readSettings({ root, max_bytes = bytesDefault, writable = false }) {
  if (typeof root !== 'string' || !path.isAbsolute(root))
    throw refusal('config.root must be the absolute path of a directory');
  if (!Number.isInteger(max_bytes) || Number(max_bytes) < 1 || Number(max_bytes) > bytesMax)
    throw refusal(`config.max_bytes must be a number of bytes from 1 to ${bytesMax}`);
  return { root, bytesMax: Number(max_bytes), isWritable: writable === true };
}
