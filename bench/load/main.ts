// The load client's process: a plan as its argument, the result as JSON on stdout.
import { load } from './client.ts';
import type { LoadPlan } from './plan.ts';

process.stdout.write(JSON.stringify(await load(JSON.parse(process.argv[2]!) as LoadPlan)));
