// How the tests run that need the package registry: the packed product, installed as its users install it.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/service/install/**/*.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxWorkers: 1,
  },
});
