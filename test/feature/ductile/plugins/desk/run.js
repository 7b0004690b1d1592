#!/usr/bin/env node
// Takes notes, and answers as it is asked to.
const chunks = [];
process.stdin.on('data', chunk => chunks.push(chunk));
process.stdin.on('end', () => {
  const { command, config, state, context, event } = JSON.parse(Buffer.concat(chunks).toString());
  if (config.answer === 'misconfigured') {
    process.stderr.write('nobody said what to answer\n');
    process.exit(78);
  }
  if (config.answer === 'later') return say({ status: 'error', error: 'not now' });
  if (config.answer === 'never') return say({ status: 'error', error: 'not at all', retry: false });
  const count = (state.count ?? 0) + 1;
  const seen = command === 'handle' ? { type: event.type, payload: event.payload, context } : { context };
  return say({ status: 'ok', result: seen, state_updates: { count } });
});

function say(response) {
  process.stdout.write(JSON.stringify(response));
}
