// duckmirror trigger: requests a sync from the worker, of one profile or of all. For schedulers: with --wait it ends
// like `sync`.
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { checkedExtent } from "../../../../jobs/requested-extent.ts";
import { withParents } from "../../../catalog/streams.ts";
import { mapAtOnce } from "../../../core/async/concurrency.ts";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import type { Fleet } from "../../../core/report/fleet.ts";
import { type SyncReport, syncReportSchema } from "../../../core/report/sync-report.ts";
import type { RequestedSync, TriggerRequest } from "../../../core/report/triggers.ts";
import { errorOf, type ProfileStart, STARTS_AT_ONCE } from "../../../queue/requests/sync-requests.ts";
import {
  anyArguments,
  type CommandContext,
  defineCommand,
  durationOf,
  flag,
  option,
  type Profiles,
  usage,
} from "../../command.ts";
import { addStreams, partOptions, streamsOf } from "../../options/streams-argument.ts";
import { problemJson } from "../../problem.ts";
import { renderSummary } from "../../terminal/summary.ts";
import { renderTable } from "../../terminal/table.ts";
import { recordedStart, type Start, untilEnded } from "../../worker/await-sync.ts";
import { connectWorker, type WorkerConnection } from "../../worker/worker-connection.ts";

/** Syncs of --all-profiles whose end is awaited at once; the others are asked for later, and may have ended by then. */
const AWAITED_AT_ONCE = 16;

const inputSchema = z.object({
  args: anyArguments,
  ...partOptions,
  allProfiles: flag("a sync of every profile of the configuration"),
  full: flag("walk every list completely, to find deletes and changes without a date"),
  withParents: flag("also read the accounts, which company lists and insights need first"),
  wait: flag("wait until the sync ends, print its report and end with its exit code"),
  timeout: option("<d>", "end the sync after this time, e.g. 15m, waiting included (exit code 4)"),
});
type Input = z.output<typeof inputSchema>;

/** Why a sync of the profile does not start, and what changes that. */
const pausesOf = (profile: string, { paused }: Fleet): readonly string[] => {
  const options = paused.flatMap((pause): [string, string][] => {
    if (pause.kind === "fleet") return [["the fleet", "--fleet"]];
    if (pause.kind === "profile" && pause.name === profile) return [[`profile ${profile}`, `--profile ${profile}`]];
    return pause.kind === "queue" && pause.name === "sync" ? [["queue sync", "--queue sync"]] : [];
  });
  return options.map(([what, option]) => `${what} is paused; \`duckmirror resume ${option}\` ends the pause`);
};

interface Asking {
  readonly ask: TriggerRequest;
  readonly worker: WorkerConnection;
  readonly start: Start;
  readonly warn: (text: string) => void;
  readonly context: CommandContext;
}

const warnIfPaused = async ({ worker, warn }: Asking, { runId, profile }: RequestedSync): Promise<void> => {
  const pauses = await worker.fleet?.read().then((fleet) => pausesOf(profile, fleet));
  for (const text of pauses ?? []) warn(`${runId} waits: ${text}`);
};

const warnIfNobodyWorks = async ({ worker, warn }: Asking): Promise<void> => {
  // From the register, because Redis's own list of connections is only for its administrator.
  const fleet = await worker.fleet?.read().catch(() => undefined);
  const takes = fleet?.members.filter(({ silent_ms }) => silent_ms === null) ?? [];
  if (fleet !== undefined && takes.length === 0) warn("no worker takes jobs from this Redis now; syncs wait for one");
};

interface Ended {
  readonly profile: string;
  readonly runId: string;
  readonly state: RequestedSync["state"];
  readonly report: SyncReport | null;
  readonly error: DuckmirrorError | null;
}

/** Waits for the end of one sync. Throws as `untilEnded`. */
const ended = async (started: ProfileStart, asking: Asking): Promise<Ended> => {
  const { ask, worker, warn, start } = asking;
  const { clock, signal } = asking.context;
  const sync = await untilEnded(
    started.runId,
    { ...ask, profile: started.profile },
    {
      triggers: { find: worker.triggers.find, start },
      clock,
      signal,
      timeoutMs: ask.timeoutMs ?? null,
      onPaused: (paused) => warnIfPaused(asking, paused),
      onAgain: (lost, again) => {
        const how = again.joined ? "it joined the sync" : "it was asked for again as";
        warn(`${lost} is lost: Redis was emptied, or its worker restarted without Redis; ${how} ${again.runId}`);
      },
    },
  );
  const report = syncReportSchema.safeParse(sync.report).data ?? null;
  const cancelled = sync.state === "cancelled" ? new DuckmirrorError("INTERRUPTED") : null;
  const unknown = report === null ? new DuckmirrorError("RUN_UNKNOWN", { run: sync.runId }) : null;
  const error = sync.error === null ? (cancelled ?? unknown) : errorOf(sync.error);
  return { profile: sync.profile, runId: sync.runId, state: sync.state, report, error };
};

const showOne = async (
  { report, error }: Ended,
  named: boolean,
  { terminal, show }: CommandContext,
): Promise<number> => {
  if (report === null) throw error ?? new DuckmirrorError("UNEXPECTED", { detail: "a sync ended without a report" });
  return show(report, () => renderSummary(report, terminal, { named }), error);
};

/** Exit code: that of the first profile whose sync is not complete. */
const showAll = async (all: readonly Ended[], { terminal, scrubber, show }: CommandContext): Promise<number> => {
  const syncs = all.map(({ profile, runId: run_id, state, report, error }) => ({
    profile,
    run_id,
    state,
    report,
    error: error === null ? null : problemJson(error, scrubber).error,
  }));
  const rows = all.map(({ profile, runId, state, error }) => [
    profile,
    runId,
    state,
    error === null ? null : `${error.code}: ${error.message}`,
  ]);
  await show({ syncs }, () => renderTable(["profile", "run", "state", "why"], rows, terminal.columns));
  return all.find(({ error }) => error !== null)?.error?.exitCode ?? EXIT.done;
};

/** Without --wait: the ids. */
const showStarted = async (started: readonly ProfileStart[], all: boolean, asking: Asking): Promise<number> => {
  const json = started.map(({ profile, runId, joined }) => ({ profile, run_id: runId, joined }));
  const [first] = json;
  if (!all && started[0] !== undefined && asking.worker.fleet !== null) {
    const asked = await asking.worker.triggers.find(started[0].runId);
    if (asked?.paused === true) await warnIfPaused(asking, asked);
  }
  return asking.context.show(all ? { syncs: json } : { run_id: first?.run_id, joined: first?.joined }, () =>
    json.map(({ profile, run_id }) => (all ? `${profile} ${run_id}` : run_id)).join("\n"),
  );
};

/** The profile to sync; null: the only one. Throws USAGE. */
const namedProfile = ({ allProfiles }: Input, { shared, env }: CommandContext): string | null => {
  const named = shared.profile ?? (env.DUCKMIRROR_PROFILE?.trim() || undefined) ?? null;
  if (allProfiles && shared.profile !== undefined) throw usage("--all-profiles and --profile exclude each other");
  return allProfiles ? null : named;
};

const trigger = async (input: Input, ask: TriggerRequest, profiles: Profiles, context: CommandContext) => {
  const { shared, terminal } = context;
  const worker = await connectWorker(profiles, context);
  try {
    const warn = (text: string) => void (shared.quiet || terminal.err(`warning: ${text}\n`));
    const start = await recordedStart(worker, profiles, context);
    const asking: Asking = { ask, worker, start, warn, context };
    const startAll = () => mapAtOnce(profiles, STARTS_AT_ONCE, ({ profile }) => start({ ...ask, profile }));
    const started = input.allProfiles ? await (worker.startAll?.(ask) ?? startAll()) : [await start(ask)];
    await warnIfNobodyWorks(asking);
    if (!input.wait) return await showStarted(started, input.allProfiles, asking);
    for (const { runId, joined } of shared.quiet ? [] : started)
      terminal.err(`${runId}: ${joined ? "a sync that was asked for already" : "asked for"}\n`);
    const ends = await mapAtOnce(started, AWAITED_AT_ONCE, (one) => ended(one, asking));
    const [first] = ends;
    if (input.allProfiles || first === undefined) return await showAll(ends, context);
    return await showOne(first, input.args.length > 0, context);
  } finally {
    await worker.close();
  }
};

export const command = defineCommand({
  configure: (cli) => addStreams(cli, "mirror"),
  examples: {
    "duckmirror trigger": "everything that is due; prints the id of the run",
    "duckmirror trigger signals --wait": "one stream; the same summary and exit code as `sync`",
    "duckmirror trigger --wait --json": "the report, as `sync --json` prints it",
    "duckmirror trigger --wait --timeout 15m":
      "ends after 15 minutes at the latest; the next sync continues from there",
    "duckmirror trigger --profile acme --full --wait --timeout 2h": "another organization, completely",
    "duckmirror trigger --reset signals --wait": "all signals anew; no row is deleted unless the list proves it",
    "duckmirror trigger signals --since 2026-11-01": "signals since that day, without the rest of the list",
    "duckmirror trigger --all-profiles": "all organizations; prints each profile with the id of its run",
  },
  input: inputSchema,
  run: async (input, context) => {
    const ask: TriggerRequest = {
      streams: input.withParents ? withParents(streamsOf(input.args)) : streamsOf(input.args),
      full: input.full,
      reset: input.reset,
      since: input.since,
      profile: namedProfile(input, context),
      // So that a repetition after a lost response is not a second sync.
      idempotencyKey: `trigger ${randomUUID()}`,
      timeoutMs: durationOf("--timeout", input.timeout, "90s, 15m or 2h"),
    };
    const profiles = await context.loadProfiles();
    // What no worker could do is refused without one.
    for (const config of profiles) checkedExtent(config, ask);
    return trigger(input, ask, profiles, context);
  },
});
