// Why the ledger refuses work, as messages for callers.
import type { Refusal } from '../actors/job/protocol.ts';

export const refusalDetails: { readonly [R in Refusal]: string } = {
  queue_full: 'the queue is full',
  waiting_full:
    'too many jobs are held or wait for their next attempt (service.max_waiting), and this plugin has such jobs',
  disk_full: 'the disk is full: nothing new can be stored',
  stopping: 'the service is shutting down',
  unavailable: 'the service cannot accept work now',
  overloaded: 'too many payload bytes are waiting to be stored',
  unknown_plugin: 'the plugin no longer exists',
  unknown_command: 'the command no longer exists',
  unknown_pipeline: 'the pipeline no longer exists',
  idempotency_mismatch: 'the Idempotency-Key was used for another request',
};
