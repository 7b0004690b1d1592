// The actors of the ledger thread: which actor calls which, and what happens in a turn, from its first message to its commit.

import { type JobActor, type JobActorOptions, startJobActor } from '../../actors/job/actor.ts';
import type { Gauges } from '../../actors/job/gauges.ts';
import { type PipelineActor, type PipelineActorOptions, startPipelineActor } from '../../actors/pipeline/actor.ts';
import { type ScheduleActor, type ScheduleActorOptions, startScheduleActor } from '../../actors/schedule/actor.ts';
import { startVaultActor, type VaultActor, type VaultActorOptions } from '../../actors/vault/actor.ts';
import type { Config } from '../../config/config.ts';
import type { SetAside } from '../../runtime/store/set-aside.ts';
import type { Reader } from '../../runtime/store/store.ts';
import type { TurnHandler } from '../../runtime/turn.ts';

/** A message to all actors of the ledger, sent to the name `ledger`: from now on new work follows this configuration. */
export type Reconfigure = { readonly kind: 'reconfigure'; readonly config: Config };

export type LedgerActorsOptions = {
  readonly store: Reader;
  readonly config: Config;
  readonly setAside: SetAside;
  readonly gauges: Gauges;
  /** Sends a message to one of these actors, which handles it in a later turn. */
  readonly tell: (actor: string, message: object) => void;
  readonly job: Omit<JobActorOptions, 'reader' | 'config' | 'setAside' | 'gauges' | 'self' | 'pipeline' | 'vault'>;
  readonly pipeline?: Partial<PipelineActorOptions>;
  readonly vault: Omit<VaultActorOptions, 'reader' | 'tell' | 'onHoldsChanged'>;
  readonly schedule: Pick<ScheduleActorOptions, 'startedMs' | 'alarm'>;
};

type Actors = {
  readonly job: JobActor;
  readonly pipeline: PipelineActor;
  readonly vault: VaultActor;
  readonly schedule: ScheduleActor;
};

/** Creates the actors from the contents of the store. */
export function startLedgerActors(options: LedgerActorsOptions): Actors {
  const { store, config, setAside, gauges, tell } = options;
  const vault = startVaultActor({
    ...options.vault,
    reader: store,
    tell: event => tell('vault', event),
    onHoldsChanged: () => job.holdsChanged(),
  });
  const job = startJobActor({
    ...options.job,
    reader: store,
    config,
    setAside,
    gauges,
    self: message => tell('job', message),
    pipeline: {
      jobsSettled: (settled, turn) => pipeline.jobsSettled(settled, turn),
      resumed: pauses => pipeline.resumed(pauses),
      startRun: (run, turn) => pipeline.startRun(run, turn),
      beginDelayed: (run, runAtUs) => pipeline.beginDelayed(run, runAtUs),
      endDelayed: (run, error) => pipeline.endDelayed(run, error),
      isOpen: run => pipeline.isOpen(run),
      callerOf: run => pipeline.callerOf(run),
      phaseOf: run => pipeline.phaseOf(run),
      exemptSince: run => pipeline.exemptSince(run),
      get nextDeadlineUs() {
        return pipeline.nextDeadlineUs;
      },
      takeOverdue: turn => pipeline.takeOverdue(turn),
      begun: run => pipeline.begun(run),
      haveWaitingEvents: root => pipeline.haveWaitingEvents(root),
      cancelRun: run => pipeline.cancelRun(run),
    },
    vault,
  });
  const pipeline = startPipelineActor({
    ...options.pipeline,
    store,
    config,
    setAside,
    jobs: job,
    wake: () => tell('job', { kind: 'wake' }),
    onRuns: (runs, settledInRuns) => gauges.set({ runs, settledInRuns }),
  });
  const schedule = startScheduleActor({
    ...options.schedule,
    reader: store,
    config,
    setAside,
    jobs: job,
    pipeline,
    self: message => tell('schedule', message),
  });
  return { job, pipeline, vault, schedule };
}

/** The order in which these actors are called in a turn. */
export function ledgerTurns({ job, pipeline, vault, schedule }: Actors): TurnHandler {
  const actors = { job, pipeline, vault, schedule };
  return {
    begin(turn) {
      pipeline.begin(turn);
      schedule.begin();
      job.begin(turn);
    },
    receive(name, message, turn) {
      if (name !== 'ledger') {
        actors[name as keyof Actors].receive(message, turn);
        return;
      }
      const { config } = message as Reconfigure;
      job.reconfigure(config);
      pipeline.reconfigure(config, turn);
      vault.reconfigure();
      schedule.reconfigure(config, turn);
    },
    end(turn) {
      schedule.fire(turn);
      // Some jobs end while they are created or dispatched. Their runs then continue in the same turn.
      do pipeline.advance();
      while (job.dispatch(turn));
      pipeline.close(turn);
      schedule.close(turn);
      job.close(turn);
      // The vault is closed last, because it writes the audit of all secrets that this turn has delivered.
      vault.close(turn);
    },
  };
}
