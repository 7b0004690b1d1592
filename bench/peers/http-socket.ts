// HTTP over a Unix socket, with JSON requests and responses on persistent connections.
import { Agent, request } from 'node:http';

export class HttpSocket {
  readonly #path: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(path: string) {
    this.#path = path;
  }

  /** Resolves with the parsed response, or null if it has no body. Rejects if the status is not 2xx. */
  post(path: string, body: object): Promise<unknown> {
    const text = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      accept: 'application/json',
    };
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath: this.#path, agent: this.#agent, method: 'POST', path, headers }, response => {
        const chunks: Buffer[] = [];
        response.on('data', chunk => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const answer = Buffer.concat(chunks).toString();
          const isFine = response.statusCode! >= 200 && response.statusCode! < 300;
          if (isFine) resolve(answer === '' ? null : JSON.parse(answer));
          else reject(new Error(`POST ${path}: ${response.statusCode} ${answer.slice(0, 200)}`));
        });
      });
      sent.on('error', reject);
      sent.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
