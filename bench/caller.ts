// A client of the gateway for calls that a bench does not measure.

export type Job = {
  readonly job_id: string;
  readonly parent_job_id?: string | null;
  readonly plugin: string;
  readonly command: string;
  readonly status: string;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly completed_at: string | null;
  /** The plugin output, with the handler's result inside. */
  readonly result: { readonly result?: unknown } | null;
  readonly last_error?: string;
};

export class Caller {
  readonly #url: URL;
  readonly #authorization: string;

  constructor(url: URL, token: string) {
    this.#url = url;
    this.#authorization = `Bearer ${token}`;
  }

  /** Submits a job, and returns its id. Throws if the job is refused. */
  async submit(path: string, payload: object): Promise<string> {
    const body = JSON.stringify({ payload });
    const response = await this.#fetch(path, { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    if (response.status !== 202) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    return ((await response.json()) as Job).job_id;
  }

  /** Sends a batch, and returns the id of its last job. Throws if a payload is not accepted. */
  async sendBatch(path: string, body: string, payloads: number): Promise<string> {
    const headers = { 'Content-Type': 'application/json' };
    const response = await this.#fetch(path, { method: 'POST', body, headers });
    const answer = Buffer.from(await response.arrayBuffer());
    const end = answer.subarray(-80).toString();
    const [, last, accepted] = /"([0-9a-f-]{36})"\],"accepted":(\d+)\}$/.exec(end) ?? [];
    if (response.status !== 202 || last === undefined || Number(accepted) !== payloads)
      throw new Error(`POST ${path}: ${response.status} … ${end}`);
    return last;
  }

  async job(id: string): Promise<Job> {
    return (await this.#get(`/job/${id}`)) as Job;
  }

  /** The newest job of a command, as the list shows it. */
  async newest(plugin: string, command: string): Promise<Pick<Job, 'job_id' | 'status'>> {
    const { jobs } = (await this.#get(`/jobs?plugin=${plugin}&command=${command}&limit=1`)) as { jobs: Job[] };
    return jobs[0]!;
  }

  async tree(id: string): Promise<Job[]> {
    return (await this.#get(`/job/${id}/tree`)) as Job[];
  }

  /** Reads a list, and returns the total in the answer. */
  async total(path: string): Promise<number> {
    return ((await this.#get(path)) as { total: number }).total;
  }

  async queueDepth(): Promise<number> {
    return ((await this.#get('/healthz')) as { queue_depth: number }).queue_depth;
  }

  /** The numbers of unsettled jobs, by kind, as GET /analytics/queue names them. */
  async queue(): Promise<{ readonly [count: string]: number }> {
    return (await this.#get('/analytics/queue')) as { readonly [count: string]: number };
  }

  /**
   * The number of jobs that have not ended. Older builds have no `waiting_count`; they count all of these jobs in the
   * other three numbers.
   */
  async unsettled(): Promise<number> {
    const { queue_depth, running_count, delayed_count, waiting_count = 0 } = await this.queue();
    return queue_depth! + running_count! + delayed_count! + waiting_count;
  }

  /** Reads a document of the API. */
  read<T>(path: string): Promise<T> {
    return this.#get(path) as Promise<T>;
  }

  /** Sends a POST whose answer does not matter. Throws if the status is not 2xx. */
  async post(path: string, body: object): Promise<void> {
    const headers = { 'Content-Type': 'application/json' };
    const response = await this.#fetch(path, { method: 'POST', body: JSON.stringify(body), headers });
    if (!response.ok) throw new Error(`POST ${path}: ${response.status} ${await response.text()}`);
    await response.text();
  }

  async #get(path: string): Promise<unknown> {
    const response = await this.#fetch(path, {});
    if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  }

  #fetch(
    path: string,
    request: { method?: string; body?: string; headers?: { [name: string]: string } },
  ): Promise<Response> {
    return fetch(new URL(path, this.#url), {
      ...request,
      headers: { ...request.headers, Authorization: this.#authorization },
    });
  }
}
