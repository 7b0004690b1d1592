// Made from the OpenAPI document of settings.ts, without its comments: HEADGATE_WRITE_GOLDEN=1 writes it again.

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
            job_status?: "queued" | "running" | "succeeded" | "failed" | "timed_out" | "dead" | "cancelled";
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
            query?: never;
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
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"];
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
            query?: never;
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
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"];
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
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedJob"];
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
