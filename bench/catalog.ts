// All benches, in the order in which they are listed and run.
import { accept } from './accept.ts';
import { backlog } from './backlog.ts';
import { backup } from './backup.ts';
import { bare } from './bare.ts';
import { batch } from './batch.ts';
import type { Bench } from './bench.ts';
import { cancel } from './cancel.ts';
import { peers } from './compare/peers.ts';
import { delayed } from './delayed.ts';
import { drain } from './drain.ts';
import { failures } from './failures.ts';
import { fanout } from './fanout.ts';
import { flood } from './flood.ts';
import { httpRead } from './http-read.ts';
import { indexing } from './indexing.ts';
import { io } from './io.ts';
import { latency } from './latency.ts';
import { metrics } from './metrics.ts';
import { misbehaviour } from './misbehaviour.ts';
import { openapi } from './openapi.ts';
import { overload } from './overload.ts';
import { plugins } from './plugins.ts';
import { reads } from './reads.ts';
import { scaleFanout } from './scale/fanout.ts';
import { scalePayload } from './scale/payload.ts';
import { scalePlugins } from './scale/plugins.ts';
import { scaleStored } from './scale/stored.ts';
import { scaleThreads } from './scale/threads.ts';
import { schedules } from './schedules.ts';
import { search } from './search.ts';
import { soak } from './soak/soak.ts';
import { sse } from './sse.ts';
import { start } from './start.ts';
import { timeline } from './timeline.ts';
import { turns } from './turns.ts';
import { ui } from './ui.ts';
import { vault } from './vault.ts';

export const benches: readonly Bench[] = [
  fanout,
  accept,
  batch,
  drain,
  io,
  latency,
  flood,
  cancel,
  backlog,
  delayed,
  backup,
  start,
  httpRead,
  reads,
  timeline,
  ui,
  search,
  indexing,
  failures,
  sse,
  vault,
  schedules,
  turns,
  metrics,
  openapi,
  plugins,
  bare,
  misbehaviour,
  overload,
  soak,
  peers,
  scaleStored,
  scalePlugins,
  scalePayload,
  scaleThreads,
  scaleFanout,
];
