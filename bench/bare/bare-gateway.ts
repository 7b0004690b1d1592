// Starts the bare gateway as a process, and calls it on the port that it prints.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Connection } from '../load/connection.ts';
import { NumberedRequest } from '../load/request.ts';
import { nowUs } from '../moment.ts';
import { pause } from '../pause.ts';
import { Samples } from '../percentile.ts';
import { bareGatewayFile } from '../project.ts';

export class BareGateway {
  readonly url: URL;
  /** A token that the gateway ignores. It is sent so that requests have the same length as headgate's. */
  readonly token: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: string, token: string) {
    this.#child = child;
    this.url = new URL(`http://127.0.0.1:${port}`);
    this.token = token;
  }

  /** Starts the gateway, which keeps its store in `directory`. */
  static async start(directory: string, token: string): Promise<BareGateway> {
    const child = spawn(process.execPath, [bareGatewayFile, directory], { stdio: ['pipe', 'pipe', 'inherit'] });
    const [port] = (await Promise.race([
      once(createInterface({ input: child.stdout }), 'line'),
      once(child, 'exit').then(([status]) => {
        throw new Error(`the bare gateway ended with ${status}`);
      }),
    ])) as [string];
    return new BareGateway(child, port, token);
  }

  /**
   * Makes one call at a time. Measures two times, both from just before the call: until its last step starts, and until
   * its answer arrives.
   */
  async times(path: string, count: number, pauseMs: number): Promise<{ startUs: Samples; answerUs: Samples }> {
    const { host, hostname, port } = this.url;
    const connection = await Connection.open(hostname, Number(port));
    const request = new NumberedRequest({ path, host, token: this.token });
    const [startUs, answerUs] = [new Samples(), new Samples()];
    for (let n = 0; n < count; n++) {
      const sentUs = nowUs();
      const { status, body } = await connection.ask(request.number(n));
      answerUs.add(nowUs() - sentUs);
      if (status !== 202) throw new Error(`the bare gateway answered ${status}`);
      startUs.add(JSON.parse(body.toString()).started_us - sentUs);
      if (pauseMs > 0) await pause(pauseMs);
    }
    connection.close();
    return { startUs, answerUs };
  }

  async stop(): Promise<void> {
    this.#child.stdin!.end();
    if (this.#child.exitCode === null) await once(this.#child, 'exit');
  }
}
