// Starts a sandbox: the whole service of API.md on a local port, over a generated warehouse, for tests, demos and first steps.
import { setMaxListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import type { IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { makeFolders, readOwnText, writeNewSync } from "../core/files/own-files.ts";
import { codingFor, compressed } from "../replica/envelope.ts";
import { openApiDocument } from "../replica/openapi/document.ts";
import { createReplica } from "../replica/replica.ts";
import { monthStart } from "../replica/usage.ts";
import { type Database, openDatabase } from "../warehouse/duckdb/database.ts";
import { threadsFor } from "../warehouse/duckdb/instance.ts";
import { migrate } from "../warehouse/file/migrate.ts";
import { type Change, createEvolution } from "./evolve.ts";
import { iso, loadRows } from "./generate/load-rows.ts";
import { generateWorld, organizationOf, type WorldOptions } from "./generate/world.ts";
import { openCredits } from "./limits/credits.ts";
import { resolveOptions, type SandboxOptions } from "./options.ts";
import {
  createRequestLog,
  createService,
  type Faults,
  type Intercept,
  type SandboxRequest,
  type SandboxResponse,
  type ServiceOptions,
  type ServiceStats,
  sandboxToken,
} from "./service.ts";

// File of a sandbox's generated warehouse: generated once, and reused when `dir` is given.

const recordSchema = z.object({ seed: z.int(), accounts: z.int(), now: z.number(), bigIds: z.boolean() });

interface WorldFile {
  readonly database: Database;
  /** True when it existed already. */
  readonly reused: boolean;
  /** Closes the database and, without `dir`, deletes it. */
  close(): Promise<void>;
}

interface WorldFileOptions extends WorldOptions {
  /** Directory to keep the warehouse in; undefined: a temporary one, deleted on close. */
  readonly dir?: string;
  readonly threads?: number;
}

const readRecord = async (file: string) => {
  try {
    return recordSchema.safeParse(JSON.parse(await readOwnText(file))).data;
  } catch {
    return undefined;
  }
};

/** Opens the warehouse for these options, and generates it if it does not exist. A reused one keeps its `now`. */
export const openWorld = async (options: WorldFileOptions): Promise<WorldFile> => {
  const { seed, accounts, now, bigIds } = options;
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), "duckmirror-sandbox-")));
  makeFolders(dir);
  const file = join(dir, "sandbox.duckdb");
  const recordFile = join(dir, "sandbox.json");
  const record = await readRecord(recordFile);
  const reused = record?.seed === seed && record.accounts === accounts && record.bigIds === bigIds;
  if (!reused) {
    // The record is removed first and written last, so that a half-written warehouse is never reused.
    for (const stale of [recordFile, file, `${file}.wal`]) await rm(stale, { force: true });
  }
  const remove = async () => {
    if (options.dir === undefined) await rm(dir, { recursive: true, force: true });
  };
  try {
    const database = await openDatabase(file, options.threads === undefined ? {} : { threads: options.threads });
    const close = async () => {
      await database.close();
      await remove();
    };
    try {
      await migrate(database, now);
      if (!reused) {
        // A second thread would mostly ask whether the first is done, while JavaScript writes the next rows.
        await database.run("SET GLOBAL threads = 1");
        await generateWorld(database, { seed, accounts, now, bigIds });
        await database.flushWal();
        await database.run(`SET GLOBAL threads = ${options.threads ?? threadsFor(file)}`);
        writeNewSync(recordFile, JSON.stringify({ seed, accounts, now, bigIds }));
      }
      return { database, reused, close };
    } catch (error) {
      await database.close();
      throw error;
    }
  } catch (error) {
    await remove();
    throw error;
  }
};

// HTTP server of the sandbox: passes every request to one function and compresses its response.

const plainHeaders = (headers: IncomingHttpHeaders): Record<string, string> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );

const pathAndQuery = (url: string) => {
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = Object.fromEntries(new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)));
  return { path, query };
};

const send = async (reply: FastifyReply, response: SandboxResponse, accept: string | undefined): Promise<void> => {
  const plain = Buffer.from(response.body);
  const encoding = codingFor(accept, plain.length);
  const bytes = encoding === undefined ? plain : await compressed(plain, encoding);
  reply.code(response.status).headers(response.headers).header("vary", "accept-encoding");
  if (encoding !== undefined) reply.header("content-encoding", encoding);
  await reply.send(bytes);
};

/** A server for `respond`, not listening yet. `serverUrl` is called once the port is known. */
const createHttp = (
  respond: (request: SandboxRequest) => Promise<SandboxResponse>,
  serverUrl: () => string,
): FastifyInstance => {
  const app = Fastify({ logger: false, forceCloseConnections: true, routerOptions: { maxParamLength: 4096 } });
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
  app.get("/openapi.json", async () => openApiDocument(serverUrl()));
  app.all("/*", async (request, reply) => {
    const body = typeof request.body === "string" ? request.body : "";
    const headers = plainHeaders(request.headers);
    const response = await respond({ method: request.method, ...pathAndQuery(request.raw.url ?? "/"), headers, body });
    await send(reply, response, headers["accept-encoding"]);
    return reply;
  });
  return app;
};

type Settings = ReturnType<typeof resolveOptions>;

export interface Sandbox {
  /** Base address, e.g. `http://127.0.0.1:41234`. */
  readonly url: string;
  readonly token: string;
  readonly organizationId: string;
  /** The generated warehouse, for tests that change or compare rows behind the routes. */
  readonly database: Database;
  /** Makes `count` changes now, one after another, and returns them. */
  evolve(count: number): Promise<readonly Change[]>;
  setTier(tier: "full" | "public"): void;
  /** Inserts a function between accounting and routes; undefined removes it. */
  intercept(intercept: Intercept | undefined): void;
  stats(): ServiceStats;
  /** Stops listening, ends waiting requests, closes the warehouse and deletes it unless `dir` was given. */
  close(): Promise<void>;
}

const spentThisMonth = async (database: Database, now: number): Promise<{ spent: number; lastId: number }> => {
  const [row] = await database.query(
    `SELECT count(*) FILTER (successful AND occurred_at >= CAST($1 AS TIMESTAMPTZ)) AS spent,
       coalesce(max(id), 0) AS "lastId" FROM main.usage_requests`,
    [iso(monthStart(now))],
    z.object({ spent: z.number(), lastId: z.number() }),
  );
  return row ?? { spent: 0, lastId: 0 };
};

const evolveTimes = async (count: number, change: () => Promise<readonly Change[]>): Promise<readonly Change[]> => {
  const changes: Change[] = [];
  for (let done = 0; done < count; done++) changes.push(...(await change()));
  return changes;
};

/** Makes changes at a steady rate until the signal aborts. `perMinute` > 0. */
const evolveSteadily = async (clock: Clock, perMinute: number, change: () => Promise<unknown>, signal: AbortSignal) => {
  while (!signal.aborted) {
    try {
      await clock.sleep(60_000 / perMinute, signal);
    } catch {
      return;
    }
    await change();
  }
};

const openWorldFor = ({ dir, threads }: SandboxOptions, settings: Settings) =>
  openWorld({
    ...settings,
    ...(dir === undefined ? {} : { dir }),
    ...(threads === undefined ? {} : { threads }),
  });

/** The contract's limits, as the usage routes show them. */
const storeLimits = async (database: Database, settings: Settings): Promise<void> => {
  const limits = {
    daily: { requests: settings.requestsPerMinute * 60 * 24 },
    monthly: { credits: settings.creditsPerMonth, rollOverCycles: 3 },
  };
  const row = { capturedAt: iso(settings.now), data: { plan: settings.plan, ...limits } };
  await database.transaction((tx) => loadRows(tx, "usage_limits", [row], iso(settings.now)));
};

/** The routes over the warehouse, behind accounting and limits. */
const serviceOver = (
  database: Database,
  settings: Settings,
  wiring: Pick<ServiceOptions, "log" | "faults" | "tokens" | "signal"> & {
    readonly organizationId: string;
    readonly spent: number;
    readonly tier: () => "full" | "public";
  },
) => {
  const { clock, seed, creditsPerMonth } = settings;
  const { organizationId, spent, tier, ...rest } = wiring;
  const replica = createReplica({
    database,
    clock,
    tier,
    maxPerPage: settings.maxPerPage,
    organizationId,
    quota: () => service.quota(),
    feedback: async () => ({ received: true }),
  });
  const service = createService({
    ...rest,
    replica,
    clock,
    seed,
    creditsPerMonth,
    requestsPerMinute: settings.requestsPerMinute,
    credits: openCredits(clock.now(), creditsPerMonth, spent),
    latencyMs: settings.latencyMs,
  });
  return service;
};

/** Generates (or reuses) the warehouse and serves it, by default on 127.0.0.1. Throws USAGE for invalid options. */
export const startSandbox = async (options: SandboxOptions = {}): Promise<Sandbox> => {
  const settings = resolveOptions(options);
  const { seed, clock } = settings;
  const organizationId = organizationOf(seed);
  const token = options.token ?? sandboxToken(organizationId, 0);
  const stopping = new AbortController();
  // Every request that waits for its latency adds a listener; Node would warn of a leak at the eleventh.
  setMaxListeners(0, stopping.signal);
  const world = await openWorldFor(options, settings);
  const { database } = world;
  let tier = settings.tier;
  const faults: Faults = { intercept: undefined };
  try {
    const { spent, lastId } = await spentThisMonth(database, clock.now());
    const log = createRequestLog(database, lastId + 1);
    if (!world.reused) await storeLimits(database, settings);
    const tokens = [token, ...(options.moreTokens ?? [])];
    const wiring = { organizationId, spent, log, faults, tokens, tier: () => tier, signal: stopping.signal };
    const service = serviceOver(database, settings, wiring);
    const change = await createEvolution(database, { seed, organizationId });
    let url = "";
    const app = createHttp(service.respond, () => url);
    url = await app.listen({ host: settings.host, port: settings.port });
    const evolving =
      settings.evolve > 0
        ? evolveSteadily(clock, settings.evolve, () => change(clock.now()), stopping.signal)
        : Promise.resolve();
    let closing: Promise<void> | undefined;
    const close = async () => {
      stopping.abort(new Error("the sandbox is closing"));
      await app.close();
      await evolving;
      await log.flush();
      await world.close();
    };
    return {
      url,
      token,
      organizationId,
      database,
      evolve: (count) => evolveTimes(count, () => change(clock.now())),
      setTier: (changed) => {
        tier = changed;
      },
      intercept: (changed) => {
        faults.intercept = changed;
      },
      stats: service.stats,
      close: () => {
        closing ??= close();
        return closing;
      },
    };
  } catch (error) {
    await world.close();
    throw error;
  }
};
