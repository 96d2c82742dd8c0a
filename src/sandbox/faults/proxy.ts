// Fault proxy in front of any HTTP server: passes on unselected requests and applies scheduled faults to the others,
// down to single bytes and the end of the connection. Knows nothing of the service.
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  Agent as PlainAgent,
  request as plainRequest,
  type ServerResponse,
} from "node:http";
import { request as secureRequest, Agent as TlsAgent } from "node:https";
import type { Socket } from "node:net";
import { promisify } from "node:util";
import { brotliDecompress, gunzip } from "node:zlib";
import { z } from "zod";
import { type Clock, systemClock } from "../../core/clock.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { createRandom } from "../random.ts";
import {
  type Answer,
  type Fault,
  type FaultKind,
  faultSchema,
  faultyResponse,
  reachesService,
  type Step,
} from "./faulty-response.ts";

// Schedule: selects a fault for each request, from a validated file. The same file and requests give the same faults:
// random numbers depend on seed, URL and its number of repetitions, so concurrency changes nothing.

const ruleSchema = z.strictObject({
  fault: faultSchema,
  /** Path to select; `*` matches one segment. Absent: any. */
  path: z.string().startsWith("/").optional(),
  /** Query parameters that must be present with these values. */
  query: z.record(z.string(), z.coerce.string()).default({}),
  /** Number of matching requests to skip first. */
  after: z.int().min(0).default(0),
  /** Number of matching requests to select after that; absent: all. */
  times: z.int().min(1).optional(),
  /** Whether `after` and `times` count all matching requests, or each URL separately. */
  each: z.enum(["request", "url"]).default("request"),
});

/** Faults that a retry overcomes: the default of the random mode. */
const PASSING: readonly (string | number)[] = [
  ...["reset-before", "reset-after", "reset-midway", "end-midway", "truncated-gzip", "cut-unframed", "short-length"],
  ...["empty-body", "html", "content-type", "invalid-json", "wrong-shape", "informational", "not-http", "duplicate"],
  ...[408, 425, 429, 500, 502, 503, 504],
];

const randomSchema = z.strictObject({
  /** Share of requests to select, 0 to 1. */
  rate: z.number().min(0).max(1),
  faults: z
    .array(faultSchema)
    .min(1)
    .prefault(() => [...PASSING]),
  /** Most consecutive faults for one URL. Below a client's number of attempts, every request finally succeeds. */
  in_a_row: z.int().min(1).default(2),
});

const scheduleSchema = z.strictObject({
  seed: z.int().default(1),
  /** Rules in order; the first one that selects the request applies. */
  rules: z.array(ruleSchema).default([]),
  random: randomSchema.optional(),
});

/** A fault file before validation. */
export type FaultFile = z.input<typeof scheduleSchema>;

/** The request to decide on. */
export interface Passing {
  readonly path: string;
  /** Without `?`. */
  readonly query: string;
}

export interface Schedule {
  /** The fault for this request; null: none. Call once per request. */
  next(request: Passing): Fault | null;
}

type Rule = z.output<typeof ruleSchema>;

const matchesPath = (pattern: string, path: string): boolean => {
  const wanted = pattern.split("/");
  const parts = path.split("/");
  return wanted.length === parts.length && wanted.every((part, index) => part === "*" || part === parts[index]);
};

const matches = (rule: Rule, { path, query }: Passing): boolean => {
  if (rule.path !== undefined && !matchesPath(rule.path, path)) return false;
  const given = new URLSearchParams(query);
  return Object.entries(rule.query).every(([name, value]) => given.get(name) === value);
};

const createRule = (rule: Rule) => {
  const counts = new Map<string, number>();
  return (request: Passing): Fault | null => {
    if (!matches(rule, request)) return null;
    const key = rule.each === "url" ? `${request.path}?${request.query}` : "";
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    const nth = count - rule.after;
    return nth >= 1 && (rule.times === undefined || nth <= rule.times) ? rule.fault : null;
  };
};

const createChance = (seed: number, { rate, faults, in_a_row }: z.output<typeof randomSchema>) => {
  const seen = new Map<string, { count: number; inRow: number }>();
  return ({ path, query }: Passing): Fault | null => {
    const url = `${path}?${query}`;
    const { count, inRow } = seen.get(url) ?? { count: 0, inRow: 0 };
    const random = createRandom(`${seed}/${url}/${count}`);
    const fault = inRow < in_a_row && random.chance(rate) ? random.pick(faults) : null;
    seen.set(url, { count: count + 1, inRow: fault === null ? 0 : inRow + 1 });
    return fault;
  };
};

/** Validates a fault file. Throws USAGE with the error. */
export const createSchedule = (written: unknown): Schedule => {
  const read = scheduleSchema.safeParse(written);
  if (!read.success) {
    const [issue] = read.error.issues;
    const place = issue?.path.join(".") ?? "";
    throw new DuckmirrorError("USAGE", {
      detail: `faults: ${place === "" ? "" : `${place}: `}${issue?.message ?? ""}`,
    });
  }
  const { seed, rules, random } = read.data;
  const deciders = [...rules.map(createRule), ...(random === undefined ? [] : [createChance(seed, random)])];
  return {
    next: (request) => {
      for (const decide of deciders) {
        const fault = decide(request);
        if (fault !== null) return fault;
      }
      return null;
    },
  };
};

/** A request that passed, in order of arrival. */
export interface Passed {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  readonly authorization: string | undefined;
  /** Fault applied to it; null: none. */
  readonly fault: FaultKind | null;
  /** Statuses that the service returned: none if it was not reached, two after a duplicate delivery. */
  readonly statuses: readonly number[];
}

export interface FaultProxy {
  /** Base address, e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly passed: readonly Passed[];
  /** Replaces the schedule. Throws USAGE. */
  setFaults(written: unknown): void;
  /** Ends every connection and stops listening. */
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  /** Address of the server behind it. */
  readonly upstream: string;
  /** A fault file's value (see the schedule above). */
  readonly faults: unknown;
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string | undefined;
  /** 0 (default): any free port. */
  readonly port?: number | undefined;
  readonly clock?: Clock;
  /** Called before a fault is applied. */
  readonly onFault?: (fault: Fault, url: string) => void;
}

/** Headers about the connection, not about the response. */
const HOP_BY_HOP = ["connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "host"];

const passedOn = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.includes(name) ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );

const readAll = async (stream: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
};

const decoders: Readonly<Record<string, (bytes: Buffer) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  br: promisify(brotliDecompress),
};

/** The same response without content encoding, so that faults can change its text. */
const decoded = async (answer: Answer): Promise<Answer> => {
  const { "content-encoding": encoding = "", "content-length": _, ...headers } = answer.headers;
  const decode = decoders[encoding];
  return decode === undefined ? answer : { ...answer, headers, body: await decode(answer.body) };
};

const createUpstream = (base: URL) => {
  const secure = base.protocol === "https:";
  const agent = secure ? new TlsAgent({ keepAlive: true }) : new PlainAgent({ keepAlive: true });
  const ask = async (request: IncomingMessage, body: Buffer): Promise<Answer> => {
    const path = `${base.pathname.replace(/\/+$/, "")}${request.url ?? "/"}`;
    const options = { agent, method: request.method, headers: passedOn(request.headers) };
    const sent = (secure ? secureRequest : plainRequest)(new URL(path, base), options);
    sent.end(body);
    const [response]: IncomingMessage[] = await once(sent, "response");
    if (response === undefined) throw new TypeError("an answer without a response");
    return {
      status: response.statusCode ?? 502,
      headers: passedOn(response.headers),
      body: await readAll(response),
    };
  };
  return { ask, close: () => agent.destroy() };
};

/** Carries out the steps on a connection until they end or it ends. */
const perform = async (socket: Socket, steps: Iterable<Step>, clock: Clock): Promise<void> => {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  for (const step of steps) {
    if (socket.destroyed) return;
    switch (step.do) {
      case "write":
        if (!socket.write(step.bytes)) await once(socket, "drain", { signal: gone.signal });
        break;
      case "pause":
        await clock.sleep(step.ms, gone.signal);
        break;
      case "end":
        socket.end();
        return;
      case "reset":
        // Send written bytes first: a reset would overtake bytes still waiting here.
        await new Promise<void>((resolve) => socket.write("", () => resolve()));
        socket.resetAndDestroy();
        return;
      case "hang":
        return;
      default:
        step satisfies never;
    }
  }
};

const send = (response: ServerResponse, { status, headers, body }: Answer): void => {
  response.writeHead(status, { ...headers, "content-length": body.length });
  response.end(body);
};

/** Listens on 127.0.0.1. Throws USAGE for faults that cannot be read. */
export const startFaultProxy = async (options: FaultProxyOptions): Promise<FaultProxy> => {
  const { clock = systemClock, onFault = () => undefined } = options;
  let schedule: Schedule = createSchedule(options.faults);
  const upstream = createUpstream(new URL(options.upstream));
  const passed: (Passed & { statuses: number[] })[] = [];
  const stopping = new AbortController();

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url = "/", method = "GET", socket } = request;
    const [path = "/", query = ""] = url.split("?", 2);
    const fault = schedule.next({ path, query });
    const statuses: number[] = [];
    passed.push({ method, url, authorization: request.headers.authorization, fault: fault?.kind ?? null, statuses });
    const body = await readAll(request);
    const ask = async () => {
      const answer = await upstream.ask(request, body);
      statuses.push(answer.status);
      return answer;
    };
    if (fault === null) return send(response, await ask());
    onFault(fault, url);
    if (fault.kind === "duplicate") await ask();
    const answer = reachesService(fault)
      ? await decoded(await ask())
      : { status: 502, headers: {}, body: Buffer.alloc(0) };
    const faulty = faultyResponse(fault, answer);
    if (faulty.kind === "script") return perform(socket, faulty.steps, clock);
    if (faulty.afterMs !== undefined) await clock.sleep(faulty.afterMs, stopping.signal);
    send(response, faulty.answer);
  };

  const server = createServer((request, response) => {
    // If the client or the service disconnects, only the connection can be ended.
    serve(request, response).catch(() => request.socket.destroy());
  });
  // A request after a pause must not meet a connection that is being closed, which would be a fault of the proxy.
  server.keepAliveTimeout = 120_000;
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new TypeError("the proxy has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    passed,
    setFaults: (written) => {
      schedule = createSchedule(written);
    },
    close: async () => {
      stopping.abort(new Error("the proxy is closing"));
      server.closeAllConnections();
      server.close();
      await once(server, "close");
      upstream.close();
    },
  };
};
