// The process of the load client. Its argument is a plan; it writes the result as JSON to stdout.
import { load } from './client.ts';
import type { LoadPlan } from './plan.ts';

process.stdout.write(JSON.stringify(await load(JSON.parse(process.argv[2]!) as LoadPlan)));
