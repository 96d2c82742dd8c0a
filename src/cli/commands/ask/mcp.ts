// duckmirror mcp: gives the mirror to an assistant, over stdio or HTTP (Model Context Protocol). Reads; spends only from a purse.
import { once } from "node:events";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";
import { type LookupResult, lookupAtService, lookupInMirror } from "../../../../jobs/lookup.ts";
import { planJob, planJson } from "../../../../jobs/plan.ts";
import { syncJob } from "../../../../jobs/sync.ts";
import type { Config } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { EXIT } from "../../../core/errors.ts";
import { orBroken } from "../../../core/report/sync-report.ts";
import type { MirrorBackend, PaidResult } from "../../../mcp/backend.ts";
import { createMcpServer, openPurse, parsePurse } from "../../../mcp/server.ts";
import type { LookupQuestion } from "../../../sync/rows/lookup-outcome.ts";
import { FOR_ONE_ANSWER, openSnapshot } from "../../../warehouse/read/query.ts";
import { createQueryProcesses } from "../../../warehouse/user-sql/user-query.ts";
import { type CommandContext, defineCommand, option } from "../../command.ts";
import { serviceContext } from "../../context.ts";
import { withError } from "../../problem.ts";
import { recordedJob, withSharedLimits } from "../../recorded-job.ts";
import { lookupJson } from "../../terminal/lookup-json.ts";

const SQL_LIMITS = { timeMs: 30_000, memoryMiB: 512, rowCharacters: 1_000_000 };

/** Lookups and syncs of an assistant, with their lines in the audit trail. */
const purchases = (config: Config, context: CommandContext) => {
  const { clock, scrubber } = context;
  const bought = (result: LookupResult): PaidResult => ({
    value: { ...withError(lookupJson(result), result.error, scrubber) },
    credits: result.credits,
  });
  return {
    lookup: async (question: LookupQuestion) => {
      const service = await serviceContext(config, context);
      const request = { ...question, maxAgeMs: null };
      return bought(
        await withSharedLimits(config, context, (limits) =>
          lookupAtService(config, request, { ...limits, ...service }),
        ),
      );
    },
    known: async (question: LookupQuestion) => {
      const found = await lookupInMirror(config, { ...question, maxAgeMs: null }, { clock });
      return found === null ? null : bought(found);
    },
    sync: async (streams: readonly string[], credits: number): Promise<PaidResult> => {
      const within = await context.loadConfig({ max_credits: String(credits) });
      const request = { streams, maxDurationMs: within.syncTimeoutMs };
      const { report, error } = await orBroken(
        recordedJob(within, context, { action: "sync", streams }, (engine) => syncJob(within, request, engine)),
      );
      return { value: { ...withError(report, error, scrubber) }, credits: report.credits.spent };
    },
  };
};

const doorOf = (config: Config, context: CommandContext): MirrorBackend & { close(): Promise<void> } => {
  const { clock } = context;
  const path = snapshotPath(config.dataDir);
  const processes = createQueryProcesses(SQL_LIMITS, config.userSql, { spare: true });
  return {
    dataDir: config.dataDir,
    read: async (work) => {
      const database = await openSnapshot(path, FOR_ONE_ANSWER);
      return work(database, path).finally(() => database.close());
    },
    query: (sql, signal, use) => processes.stream({ snapshot: path, sql, signal }, use),
    plan: async (streams) => planJson(await planJob(config, { streams }, clock)),
    ...purchases(config, context),
    close: () => processes.close(),
  };
};

export const command = defineCommand({
  examples: {
    "duckmirror mcp": "for an assistant that starts it: reads the mirror, spends nothing",
    "duckmirror mcp --purse 5/session": "lookup and sync, too, for at most five credits",
    "duckmirror mcp --http 127.0.0.1:8738": "for assistants that connect to http://127.0.0.1:8738/mcp",
    "claude mcp add duckmirror -- npx duckmirror mcp --data-dir /srv/mirror": "add it to an assistant",
  },
  input: z.object({
    http: option("<address>", "serve over HTTP at /mcp of this address, behind the keys of `serve` (default: stdio)"),
    purse: option("<credits>", "credits that an assistant may spend, e.g. 5/session or 1/call,20/day (default: none)"),
  }),
  run: async (input, context) => {
    const { clock, version, signal } = context;
    const limits = input.purse === undefined ? null : parsePurse(input.purse);
    const config = await context.loadConfig();
    const door = doorOf(config, context);
    // A session is a run of this command, however many connections it has.
    const purse = limits === null ? null : openPurse(limits, config.dataDir, clock);
    const open = (maySpend: boolean) => createMcpServer(door, { purse: maySpend ? purse : null, clock, version });
    try {
      if (input.http !== undefined) {
        const { serveOverHttp } = await import("../../worker/mcp-over-http.ts");
        await serveOverHttp(input.http, config, context, open);
        return EXIT.done;
      }
      const handle = serveStdio(() => open(true));
      // The assistant ends the session by closing its end of the pipe.
      await Promise.race([once(process.stdin, "close"), ...(signal.aborted ? [] : [once(signal, "abort")])]);
      await handle.close();
      return EXIT.done;
    } finally {
      await door.close();
    }
  },
});
