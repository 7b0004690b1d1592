// The keys of a schedule, at the top of a configuration and below a plugin.
import { Type } from '../../runtime/schema-type.ts';
import { tagCharactersMax, tagKeyPattern, tagsMax } from '../../runtime/tag-form.ts';
import { catchUpRules, overlapRules } from '../config.ts';
import * as field from './field.ts';

/** The maximum number of schedules in one list. */
export const schedulesMax = 100_000;
/** The maximum of `pause_after_failures`. */
const failuresMax = 1_000_000;

const when = {
  cron: field.text(
    'a cron expression such as "30 2 * * *"',
    'The times as a cron expression with 5 fields, 6 fields with the second first, or a name such as `@daily`. A schedule has exactly one of `cron`, `every` and `at`. Default: none. Example: `"30 2 * * *"`.',
  ),
  at: field.time('The only time at which it fires. Default: none. Example: `2027-01-01T00:00:00Z`.'),
  timezone: field.text(
    'the IANA name of a time zone, such as Europe/Berlin',
    'The time zone of `cron`. Default: `UTC`. Example: `Europe/Berlin`.',
  ),
};
const every = field.duration(
  'The time between two firings, from `1s` to `3650d`, counted from when the service first loads the schedule. Default: none. Example: `15m`.',
);
const command = (standard: string) => field.name(`The command of the plugin. Default: \`${standard}\`.`);
const payload = field.freeMap('The payload of its jobs. Default: `{}`. Example: `{ kind: full }`.');
const tags = Type.Object(
  {},
  {
    propertyNames: {
      pattern: tagKeyPattern,
      expected: 'the key of a tag: 1 to 32 of a-z, 0-9 and _',
    },
    additionalProperties: Type.String({
      pattern: `^[\\s\\S]{0,${tagCharactersMax}}$`,
      expected: `a text of at most ${tagCharactersMax} characters`,
      description: 'The text of the tag.',
    }),
    maxProperties: tagsMax,
    expected: `a map of at most ${tagsMax} tags to their texts`,
    description: 'The [tags](engine.md#tags) of its jobs. Default: `{}`. Example: `{ tenant: acme }`.',
  },
);
const jitter = field.duration(
  'Delays each firing by up to this long, by a hash of id and time, so that each occurrence always has the same delay. Default: no delay.',
);
const overlapText =
  'What happens while the job or run of the last firing has not ended: `skip` does not fire, `queue` has its job wait until it has ended, ' +
  '`replace` cancels it, `allow` fires beside it.';
const catchUp = field.oneOf(
  catchUpRules,
  'What happens to times that passed while the service was down or the schedule was paused: `skip` leaves them out, `run_once` fires once for all of them, `run_all` fires for each, at most 100. Default: `run_once`.',
);
const others = {
  catch_up_within: field.duration('Times that passed longer ago are not made up for. Default: `24h`.'),
  pause_after_failures: field.count(
    0,
    'Pauses the schedule after this many failures in a row; `0` never does. Default: `0`.',
    failuresMax,
  ),
  skip_when_paused: field.flag(
    'Whether it does not fire while its plugin or pipeline is paused. Otherwise its job waits. Default: `false`.',
  ),
  enabled: field.flag('Whether it fires. Default: `true`.'),
};

const schedule = field.closedMap(
  {
    id: field.name('The id of the schedule. Its jobs have `schedule:ID` as `submitted_by`.'),
    plugin: field.name('The plugin that it runs. A schedule has either this or `pipeline`. Default: none.'),
    command: command('handle'),
    pipeline: field.text(
      'the name of a pipeline',
      'The pipeline that it runs. A schedule has either this or `plugin`. Default: none.',
    ),
    cron: when.cron,
    every,
    at: when.at,
    timezone: when.timezone,
    payload,
    tags,
    jitter,
    if_running: field.oneOf(overlapRules, `${overlapText} Default: \`skip\`.`),
    catch_up: catchUp,
    ...others,
  },
  'A schedule: when to run a command or a pipeline. [schedules.md](schedules.md) has examples.',
  { required: ['id'], oneOf: field.eitherOf(['plugin', 'pipeline']) },
);

export const schedulesField = Type.Array(schedule, {
  maxItems: schedulesMax,
  expected: `a list of at most ${schedulesMax} schedules`,
  description: 'The schedules. Default: `[]`.',
});

const pluginSchedule = field.closedMap(
  {
    id: field.text(
      'a name of at most 128 characters',
      'The `schedule_id` in `GET /scheduler/jobs`. Default: `default`.',
      {
        pattern: '^[^\\r\\n]{1,128}$',
      },
    ),
    command: command('poll'),
    cron: when.cron,
    every: Type.String({
      pattern: '^([0-9]{1,9}(ms|s|m|h|d)|hourly|daily|weekly)$',
      expected: 'a duration such as 30s, 5m or 24h, or hourly, daily or weekly',
      description:
        'The time between two firings, at least `1s`; also `hourly`, `daily` and `weekly`. Default: none. Example: `15m`.',
    }),
    at: when.at,
    timezone: when.timezone,
    payload,
    tags,
    jitter,
    if_running: field.oneOf(
      [...overlapRules, 'cancel'],
      `${overlapText} \`cancel\` means \`replace\`. Default: \`skip\`.`,
    ),
    catch_up: catchUp,
    ...others,
  },
  'A schedule of the plugin, in the form that ductile has. Its id is the name of the plugin, a dot, and its place in the list from 0.',
);

export const pluginSchedulesField = Type.Array(pluginSchedule, {
  maxItems: schedulesMax,
  expected: `a list of at most ${schedulesMax} schedules`,
  description: 'The schedules of the plugin. Default: `[]`.',
});
