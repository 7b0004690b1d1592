// Answers that the reads thread writes, as answers of a route.
import type { Read } from '../service/reads/reads.ts';
import { type Answer, json } from './answer.ts';
import { problem } from './problem.ts';
import { jsonType } from './response-head.ts';
import type { HttpCall } from './route.ts';

/** The answer includes everything that was committed before the call. */
export async function answerRead(call: Pick<HttpCall, 'engine' | 'onGone'>, read: Read): Promise<Answer> {
  const answer = await call.engine.reads.answer(read, call);
  switch (answer.kind) {
    case 'whole':
      return json(200, answer.text);
    case 'pieces':
      return { kind: 'stream', status: 200, contentType: jsonType, open: sink => answer.open(sink) };
    case 'refused':
      return problem(answer.refusal, answer.detail);
  }
}
