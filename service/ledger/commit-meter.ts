// Counts the commits of the ledger: how long each took, and how many accepted jobs and ended attempts it had. The histograms are in shared memory.
import { Buckets, bucketBytes, jobsLimits, secondsLimits } from '../../runtime/buckets.ts';
import type { Store } from '../../runtime/store/store.ts';

export class CommitMeter {
  readonly shared: SharedArrayBuffer;
  readonly seconds: Buckets;
  readonly jobs: Buckets;

  constructor(shared = new SharedArrayBuffer(bucketBytes(secondsLimits) + bucketBytes(jobsLimits))) {
    this.shared = shared;
    this.seconds = new Buckets(secondsLimits, shared);
    this.jobs = new Buckets(jobsLimits, shared, bucketBytes(secondsLimits));
  }

  /** Wraps the store to count its commits, except failed commits. `jobs`: how many jobs the last commit accepted, plus how many attempts it ended. */
  over(store: Store, jobs: () => number): Store {
    return {
      ...store,
      commit: batch => {
        const startMs = performance.now();
        store.commit(batch);
        this.seconds.add((performance.now() - startMs) / 1000);
        this.jobs.add(jobs());
      },
    };
  }
}
