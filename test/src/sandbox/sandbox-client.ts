// Talks to a sandbox over real HTTP, as a client would; a clock that tests move; clean-up after each file.
import { afterAll, beforeAll } from "vitest";
import { z } from "zod";
import type { Clock } from "../../../src/core/clock.ts";
import type { SandboxOptions } from "../../../src/sandbox/options.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/sandbox.ts";

/** The present of every generated world in these tests. */
export const NOW = Date.UTC(2026, 4, 20);

export interface FakeClock extends Clock {
  advance(ms: number): void;
}

/** Stands still until it is advanced; `sleep` moves it on, so that nothing waits. */
export const fakeClock = (start = NOW): FakeClock => {
  let now = start;
  return {
    now: () => now,
    advance: (ms) => {
      now += ms;
    },
    sleep: async (ms) => {
      now += ms;
    },
  };
};

const recordSchema = z.record(z.string(), z.unknown());

export type Row = z.infer<typeof recordSchema>;

const envelopeSchema = z.looseObject({
  status: z.string().optional(),
  data: z.unknown().optional(),
  included: recordSchema.optional(),
  meta: z
    .object({
      requestId: z.string(),
      apiVersion: z.string(),
      timestamp: z.string(),
      page: z.number().optional(),
      perPage: z.number().optional(),
      totalCount: z.number().optional(),
      totalPages: z.number().optional(),
    })
    .optional(),
  usage: z.object({ limit: z.number(), used: z.number(), remaining: z.number(), resetsAt: z.string() }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

export type Envelope = z.infer<typeof envelopeSchema>;

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends one request with the sandbox's token. */
export const send = async (sandbox: Sandbox, path: string, init: RequestInit = {}): Promise<Reply> => {
  const headers = { authorization: `Bearer ${sandbox.token}`, ...Object.fromEntries(new Headers(init.headers)) };
  const response = await fetch(`${sandbox.url}${path}`, { ...init, headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
};

/** GET that must answer with the status (200). */
export const get = async (sandbox: Sandbox, path: string, status = 200): Promise<Envelope> => {
  const reply = await send(sandbox, path);
  if (reply.status !== status) throw new Error(`${path}: ${reply.status} ${reply.text.slice(0, 500)}`);
  return envelopeSchema.parse(JSON.parse(reply.text));
};

export const one = (value: unknown): Row => recordSchema.parse(value);
export const many = (value: unknown): Row[] => z.array(recordSchema).parse(value);

/** Every row of a list, page by page. */
export const walk = async (sandbox: Sandbox, path: string): Promise<Row[]> => {
  const rows: Row[] = [];
  for (let page = 1; ; page++) {
    const { data, meta } = await get(sandbox, `${path}${path.includes("?") ? "&" : "?"}perPage=100&page=${page}`);
    rows.push(...many(data));
    if (page >= (meta?.totalPages ?? 0)) return rows;
  }
};

/** First element; a test that needs one fails here when there is none. */
export const first = <T>(list: readonly T[]): T => {
  const [element] = list;
  if (element === undefined) throw new Error("expected at least one element");
  return element;
};

/** One sandbox for a whole test file. */
export const sharedSandbox = (options: SandboxOptions = {}): (() => Sandbox) => {
  let sandbox: Sandbox | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox({ accounts: 12, now: NOW, plan: "enterprise", threads: 1, ...options });
  });
  afterAll(async () => sandbox?.close());
  return () => {
    if (sandbox === undefined) throw new Error("the sandbox has not started");
    return sandbox;
  };
};

/** Runs `work` with a sandbox of its own and closes it in any case. */
export const withSandbox = async <T>(options: SandboxOptions, work: (sandbox: Sandbox) => Promise<T>): Promise<T> => {
  const sandbox = await startSandbox({ accounts: 3, now: NOW, plan: "enterprise", threads: 1, ...options });
  try {
    return await work(sandbox);
  } finally {
    await sandbox.close();
  }
};
