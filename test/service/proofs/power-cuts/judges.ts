// Judges of images: each is a process that checks one image after the other, and is replaced if an image crashes it.
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Image } from './judge.ts';

const loader = new URL('../../../../dist/runtime/host/thread/typescript-loader.js', import.meta.url);
const registration = `data:text/javascript,import { register } from 'node:module'; register('${loader}');`;

export class Judge {
  #child: ChildProcess | null = null;

  /** What is wrong with the image. */
  judge(image: Image): Promise<readonly string[]> {
    this.#child ??= fork(fileURLToPath(new URL('./judge.ts', import.meta.url)), [], {
      execArgv: ['--import', registration],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const child = this.#child;
    return new Promise(resolve => {
      const onEnd = (status: number | null, signal: string | null): void => {
        this.#child = null;
        resolve([`it ended the process that opened it: ${signal ?? status}`]);
      };
      child.once('exit', onEnd);
      child.once('message', wrong => {
        child.off('exit', onEnd);
        resolve(wrong as string[]);
      });
      child.send(image);
    });
  }

  close(): void {
    this.#child?.kill();
  }
}
