#!/usr/bin/env node
// Answers each request with the number in its payload.
const { createInterface } = require('node:readline');

createInterface({ input: process.stdin }).on('line', line => {
  const { id, payload } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ id, status: 'ok', result: { n: payload.n } })}\n`);
});
