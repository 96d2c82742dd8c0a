// duckmirror jobs: lists queued, running and failed jobs; retries and cancels.
import { z } from "zod";
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { AskedSync } from "../../queue/asks.ts";
import type { DeadLetter } from "../../queue/bullmq/dead-letters.ts";
import { audited } from "../audited.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { renderTable } from "../terminal/table.ts";
import { openDoor, type WorkerDoor } from "../worker/door.ts";

const inputSchema = z.object({
  failed: z.boolean().default(false),
  retry: z.string().optional(),
  cancel: z.string().optional(),
});

const iso = (ms: number) => new Date(ms).toISOString();

const activeJson = ({ runId, askedAt, profile, state }: AskedSync) => ({
  run_id: runId,
  profile,
  state,
  asked_at: iso(askedAt),
});
const failedJson = ({ id, name, profile, runId, failedAt, problem }: DeadLetter) => ({
  id,
  job: name,
  profile,
  run_id: runId,
  failed_at: iso(failedAt),
  error: problem,
});

/** Dead letters, and a function to retry one. Without Redis none are kept; `status` shows failures. */
const letters = async ({ queues, triggers }: WorkerDoor) => {
  if (queues === null) return { list: [], retry: null };
  const { deadLetters, retryLetter } = await import("../../queue/bullmq/dead-letters.ts");
  return { list: await deadLetters(queues), retry: (id: string) => retryLetter(queues, triggers, id) };
};

/** A change of the queue with its line in the audit trail. Over HTTP, the worker's server writes the line. */
const recorded = async (
  action: "cancel" | "retry",
  door: WorkerDoor,
  config: Config,
  context: CommandContext,
  work: () => Promise<string | null>,
): Promise<string | null> =>
  door.queues === null ? work() : audited(config, context, { action }, work, (runId) => ({ runId }));

const retry = async (which: string, door: WorkerDoor, config: Config, context: CommandContext): Promise<number> => {
  const { list, retry: again } = await letters(door);
  if (again === null) {
    throw new DuckmirrorError("USAGE", {
      detail: "failed jobs are kept in Redis only (REDIS_URL); `duckmirror trigger` asks for a sync",
    });
  }
  const retried: { id: string; run_id: string | null }[] = [];
  let problem: unknown = null;
  for (const id of which === "all" ? list.map((letter) => letter.id) : [which]) {
    try {
      retried.push({ id, run_id: await recorded("retry", door, config, context, () => again(id)) });
    } catch (error) {
      // With `all`, an unreadable letter does not stop the others.
      if (which !== "all") throw error;
      problem = error;
    }
  }
  if (context.shared.json) await context.printJson({ retried });
  else for (const { id, run_id } of retried) await context.terminal.out(`${id} ${run_id ?? "dropped"}\n`);
  return problem === null ? EXIT.done : context.printProblem(problem).exitCode;
};

const show = async (onlyFailed: boolean, door: WorkerDoor, { shared, terminal, printJson }: CommandContext) => {
  const { list } = await letters(door);
  const active = onlyFailed ? [] : await door.triggers.active();
  if (shared.json) {
    const failed = list.map(failedJson);
    await printJson(onlyFailed ? { failed } : { active: active.map(activeJson), failed });
    return;
  }
  const { columns } = terminal;
  if (active.length > 0) {
    const rows = active.map(({ runId, profile, state, askedAt }) => [runId, profile, state, iso(askedAt)]);
    const heads = ["run", "profile", "state", "asked at"].map((name) => ({ name }));
    await terminal.out(renderTable(heads, rows, columns));
  } else if (!onlyFailed) await terminal.out("Nothing is queued or under way.\n");
  if (list.length === 0) {
    if (onlyFailed) await terminal.out("No job has failed.\n");
    return;
  }
  const rows = list.map(({ id, profile, failedAt, problem }) => [
    id,
    profile ?? "?",
    iso(failedAt),
    problem === null ? "" : `${problem.code}: ${problem.message}`,
  ]);
  const heads = ["failed job", "profile", "failed at", "why"].map((name) => ({ name }));
  await terminal.out(renderTable(heads, rows, columns));
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--failed", "only jobs that failed; they are kept for 30 days")
      .option("--retry <id>", "ask again for what a failed job was to do, and drop it; `all` for every one")
      .option("--cancel <run>", "end a sync at its next checkpoint, or before it starts"),
  examples: {
    "duckmirror jobs": "what is queued or under way, and what failed",
    "duckmirror jobs --failed --json": "for a monitor",
    "duckmirror jobs --retry all": "after the cause is mended",
    "duckmirror jobs --cancel 20261121T050000Z-k3x9a1": "end one sync",
  },
  input: inputSchema,
  run: async (input, context) => {
    const profiles = await context.loadProfiles();
    const [config] = profiles;
    if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
    const door = await openDoor(profiles, context);
    try {
      if (input.retry !== undefined) return await retry(input.retry, door, config, context);
      if (input.cancel === undefined) {
        await show(input.failed, door, context);
        return EXIT.done;
      }
      const run = input.cancel;
      await recorded("cancel", door, config, context, async () => {
        if (await door.triggers.cancel(run)) return run;
        throw new DuckmirrorError("RUN_UNKNOWN", { run });
      });
      if (context.shared.json) await context.printJson({ run_id: run, cancelling: true });
      else await context.terminal.out(`${run} is being cancelled\n`);
      return EXIT.done;
    } finally {
      await door.close();
    }
  },
});
