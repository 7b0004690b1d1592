// The compiler's API for openapi-typescript: since version 7 the package `typescript` has none, and a second one would take its command.
import { register } from 'node:module';
import { ts } from '@ts-morph/common';

const hooks = `export function resolve(name, context, next) {
  return name === 'typescript' ? { url: ${JSON.stringify(import.meta.url)}, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);

export default ts;
