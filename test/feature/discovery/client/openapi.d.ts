// Made from the OpenAPI document of settings.ts, without its comments: HEADGATE_WRITE_GOLDEN=1 writes it anew.

export interface paths {
    "/plugin/sums/add": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sums__add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plugin/sums/weigh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sums__weigh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/plugin/sums/handle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["sums__handle"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        RunAt: string;
        Delay: string;
        Expires: string;
        Deadline: string;
        Tags: {
            [key: string]: string;
        };
        "sums__weigh.node": {
            size: number;
            children?: components["schemas"]["sums__weigh.node"][];
        };
        AcceptedJob: {
            job_id: string;
            status: "queued";
            plugin: string;
            command: string;
        };
        Job: {
            job_id: string;
            status: "queued" | "running" | "succeeded" | "failed" | "timed_out" | "dead" | "cancelled";
            plugin: string;
            command: string;
            parent_job_id: string | null;
            submitted_by: string;
            attempt: number;
            created_at: string;
            started_at: string | null;
            completed_at: string | null;
            tags?: {
                [key: string]: string;
            };
            counts?: {
                succeeded: number;
                failed: number;
                timed_out: number;
                dead: number;
                cancelled: number;
                unsettled?: number;
                reused?: number;
            };
            run_at?: string;
            expires_at?: string;
            deadline_at?: string;
            schedule?: {
                id: string;
                due_at: string | null;
            };
            rerun_of?: string;
            rerun_from?: "start" | "failed";
            rerun_reason?: string;
            reruns?: string[];
            rerun_count?: number;
            cancelling?: true | number;
            phase_error?: string;
            cancel?: {
                by: string;
                at: string;
                reason?: string;
            };
            waits_for?: {
                reason: "worker" | "retry" | "run_at" | "children" | "paused" | "plugin" | "vault" | "disk";
                detail: string;
                since: string;
                until?: string;
            };
            pipeline?: string | null;
            run_id?: string | null;
            step_id?: string | null;
            phase?: "on_failure" | "finally";
            index?: number | null;
            event?: {
                type: string;
                event_id: string;
                timestamp: string;
                source: string;
                dedupe_key?: string;
                headers?: Record<string, never>;
                schedule?: {
                    id: string;
                    due_at: string | null;
                    fired_at: string;
                    missed: number;
                };
            } | null;
            payload?: unknown;
            context?: Record<string, never>;
            omitted?: ("payload" | "context")[];
            result?: {
                status: "ok" | "error";
                result: unknown;
                error?: string;
                events: unknown[];
                state_updates: Record<string, never>;
                logs: {
                    level: string;
                    message: string;
                }[];
            } | null;
            last_error?: string;
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail: string;
            code: string;
            error: string;
            request_id: string;
            errors?: {
                index?: number;
                pointer: string;
                message: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    sums__add: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    payload?: {
                        a?: number;
                        b?: number;
                    };
                    run_at?: components["schemas"]["RunAt"];
                    delay?: components["schemas"]["Delay"];
                    expires?: components["schemas"]["Expires"];
                    deadline?: components["schemas"]["Deadline"];
                    tags?: components["schemas"]["Tags"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"] | components["schemas"]["Job"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sums__weigh: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    payload?: {
                        tree: components["schemas"]["sums__weigh.node"];
                    };
                    run_at?: components["schemas"]["RunAt"];
                    delay?: components["schemas"]["Delay"];
                    expires?: components["schemas"]["Expires"];
                    deadline?: components["schemas"]["Deadline"];
                    tags?: components["schemas"]["Tags"];
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"] | components["schemas"]["Job"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    sums__handle: {
        parameters: {
            query?: {
                wait?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"] | components["schemas"]["Job"];
                };
            };
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
