// duckmirror trigger: requests a sync from the worker. For schedulers: with --wait it ends like `sync`.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import { DuckmirrorError, EXIT, isCode } from "../../core/errors.ts";
import type { Fleet } from "../../core/report/fleet.ts";
import { syncReportSchema } from "../../core/report/sync-report.ts";
import { parseDuration } from "../../core/text/units.ts";
import { noTracer } from "../../core/tracing.ts";
import { type AskedSync, errorOf, type SyncAsk, type Triggers } from "../../queue/asks.ts";
import { tracedTriggers } from "../../queue/traced-triggers.ts";
import { audited } from "../audited.ts";
import { defineCommand } from "../command.ts";
import { addStreams, streamsOf } from "../options/streams-argument.ts";
import { renderSummary } from "../terminal/summary.ts";
import { openDoor } from "../worker/door.ts";

const POLL_MS = 500;
/** Time for which the worker or Redis may be away while waiting for the end of a sync, ms. */
const AWAY_MS = 60_000;

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  full: z.boolean().default(false),
  wait: z.boolean().default(false),
  timeout: z.string().optional(),
});

/** Time for a sync to end requests in flight, publish and report after its deadline, ms. */
const ENDING_MS = 60_000;

const timeoutOf = ({ timeout }: z.output<typeof inputSchema>): number | null => {
  if (timeout === undefined) return null;
  const ms = parseDuration(timeout);
  if (ms !== null && ms > 0) return ms;
  throw new DuckmirrorError("USAGE", { detail: `--timeout: "${timeout}" is not a duration like 90s, 15m or 2h` });
};

/** Why a sync of the profile does not start, and what changes that. */
const pausesOf = (profile: string, { paused }: Fleet): readonly string[] => {
  const options = paused.flatMap((pause): [string, string][] => {
    if (pause.kind === "fleet") return [["the fleet", "--fleet"]];
    if (pause.kind === "profile" && pause.name === profile) return [[`profile ${profile}`, `--profile ${profile}`]];
    return pause.kind === "queue" && pause.name === "sync" ? [["queue sync", "--queue sync"]] : [];
  });
  return options.map(([what, option]) => `${what} is paused; \`duckmirror resume ${option}\` ends the pause`);
};

/** Dependencies of waiting; replaced in tests. */
interface Waiting {
  readonly triggers: Triggers;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly timeoutMs: number | null;
  /** Called once when the sync waits because of a pause. */
  readonly onPaused?: (sync: AskedSync) => Promise<void>;
}

/**
 * Waits until the sync has ended, at its deadline at the latest. If no process knows it any more (Redis was emptied,
 * a worker without Redis restarted), requests it again. Throws WAIT_SPENT when it continues after the deadline
 * because another caller gave it more time, or did not end in time; INTERRUPTED; and the error that kept the worker
 * away for a minute.
 */
export const untilEnded = async (runId: string, ask: SyncAsk, waiting: Waiting): Promise<AskedSync> => {
  const { triggers, clock, signal, timeoutMs } = waiting;
  let onPaused = waiting.onPaused;
  const deadline = timeoutMs === null ? Number.POSITIVE_INFINITY : clock.now() + timeoutMs;
  let run = runId;
  let seenAt = clock.now();
  /** The sync ends by itself soon after our deadline. */
  let endsInTime = false;
  for (;;) {
    try {
      const sync = await triggers.find(run);
      if (sync !== null && sync.state !== "queued" && sync.state !== "running") return sync;
      if (sync?.paused === true) {
        const report = onPaused;
        onPaused = undefined;
        await report?.(sync);
      }
      if (sync === null) {
        // Another request than the first one, because it has less time left.
        const left =
          timeoutMs === null
            ? {}
            : { timeoutMs: Math.max(1, deadline - clock.now()), idempotencyKey: `${ask.idempotencyKey} again ${run}` };
        run = (await triggers.start({ ...ask, ...left })).runId;
      }
      const dueAt = sync?.dueAt ?? null;
      endsInTime = dueAt !== null && dueAt <= deadline + POLL_MS;
      seenAt = clock.now();
    } catch (error) {
      const isAway = isCode(error, "REDIS_UNAVAILABLE") || isCode(error, "WORKER_UNREACHABLE");
      if (!isAway || clock.now() - seenAt > AWAY_MS) throw error;
    }
    const until = endsInTime ? deadline + ENDING_MS : deadline;
    if (clock.now() >= until) throw new DuckmirrorError("WAIT_SPENT", { run });
    await clock.sleep(Math.min(POLL_MS, Math.max(0, until - clock.now())), signal);
  }
};

export const command = defineCommand({
  configure: (cli) =>
    addStreams(cli, "mirror")
      .option("--full", "walk every list completely, to find deletes and changes without a date")
      .option("--wait", "wait for its end and answer with its report and its exit code")
      .option("--timeout <d>", "end the sync after this time, e.g. 15m, waiting included (exit code 4)"),
  examples: {
    "duckmirror trigger": "everything that is due; prints the id of the run",
    "duckmirror trigger signals --wait": "one stream, with exit code and summary as of `sync`",
    "duckmirror trigger --wait --json": "the report, as `sync --json` prints it",
    "duckmirror trigger --wait --timeout 15m":
      "ends after 15 minutes at the latest; the next sync continues from there",
    "duckmirror trigger --profile acme --full --wait --timeout 2h": "another organization, completely",
  },
  input: inputSchema,
  run: async (input, context) => {
    const { shared, clock, signal, terminal } = context;
    const timeoutMs = timeoutOf(input);
    const profiles = await context.loadProfiles();
    const ask: SyncAsk = {
      streams: streamsOf(input.args),
      full: input.full,
      profile: shared.profile ?? null,
      // So that a repetition after a lost response is not a second sync.
      idempotencyKey: `trigger ${randomUUID()}`,
      timeoutMs,
    };
    const door = await openDoor(profiles, context);
    try {
      const [config] = profiles;
      const tracer = config === undefined ? noTracer : await context.tracer(config);
      const start = () => tracedTriggers(door.triggers, tracer).start(ask);
      const deed = { action: "sync", subject: ask.streams.join(",") || null } as const;
      // Over HTTP, the worker's server writes the line.
      const { runId, joined } =
        config === undefined || door.queues === null
          ? await start()
          : await audited(config, context, deed, start, (started) => ({ runId: started.runId }));
      // From the register, because Redis's own list of connections is only for its administrator.
      const fleet = await door.fleet?.read().catch(() => undefined);
      const takes = fleet?.members.filter(({ role, silent_ms }) => role !== "fetch" && silent_ms === null) ?? [];
      if (fleet !== undefined && takes.length === 0 && !shared.quiet) {
        terminal.err("warning: no worker takes jobs from this Redis now; the sync waits for one\n");
      }
      const onPaused = async ({ profile }: AskedSync) => {
        for (const text of (await door.fleet?.read().then((fleet) => pausesOf(profile, fleet))) ?? []) {
          if (!shared.quiet) terminal.err(`warning: ${runId} waits: ${text}\n`);
        }
      };
      if (!input.wait) {
        const asked = door.fleet === null ? null : await door.triggers.find(runId);
        if (asked?.paused === true) await onPaused(asked);
        if (shared.json) await context.printJson({ run_id: runId, joined });
        else await terminal.out(`${runId}\n`);
        return EXIT.done;
      }
      if (!shared.quiet) terminal.err(`${runId}: ${joined ? "a sync that was asked for already" : "asked for"}\n`);
      const waiting = { triggers: door.triggers, clock, signal, timeoutMs, onPaused };
      const sync = await untilEnded(runId, ask, waiting);
      const report = syncReportSchema.safeParse(sync.report).data;
      const cancelled = sync.state === "cancelled" ? new DuckmirrorError("INTERRUPTED") : null;
      const error = sync.error === null ? cancelled : errorOf(sync.error);
      if (report === undefined) throw error ?? new DuckmirrorError("RUN_UNKNOWN", { run: runId });
      if (shared.json) await context.printJson(report);
      else await terminal.out(renderSummary(report, terminal, { named: input.args.length > 0 }));
      return error === null ? EXIT.done : context.printProblem(error).exitCode;
    } finally {
      await door.close();
    }
  },
});
