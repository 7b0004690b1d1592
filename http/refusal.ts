// Why the ledger does not take work, in words for the caller.
import type { Refusal } from '../actors/job/protocol.ts';

export const refusalDetails: { readonly [R in Refusal]: string } = {
  queue_full: 'the queue is full',
  disk_full: 'the disk is full: nothing new can be stored',
  stopping: 'the service is shutting down',
  unavailable: 'the service cannot take work right now',
  unknown_plugin: 'there is no such plugin any more',
  unknown_command: 'there is no such command any more',
  unknown_pipeline: 'there is no such pipeline any more',
  idempotency_mismatch: 'the Idempotency-Key was used for another request',
};
