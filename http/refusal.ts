// Why the ledger does not take work, in words for the caller.
import type { Refusal } from '../actors/job/protocol.ts';

export const refusalDetails: { readonly [R in Refusal]: string } = {
  queue_full: 'the queue is full',
  waiting_full:
    'too many jobs are held or wait for their next attempt (service.max_waiting), some of this plugin among them',
  disk_full: 'the disk is full: nothing new can be stored',
  stopping: 'the service is shutting down',
  unavailable: 'the service cannot take work right now',
  overloaded: 'too many bytes wait to be stored',
  unknown_plugin: 'there is no such plugin any more',
  unknown_command: 'there is no such command any more',
  unknown_pipeline: 'there is no such pipeline any more',
  idempotency_mismatch: 'the Idempotency-Key was used for another request',
};
