// duckmirror jobs: lists queued, running and failed jobs, queues, members and pauses; retries, drops and cancels.
import { z } from "zod";
import { DuckmirrorError, EXIT } from "../../../core/errors.ts";
import type { AskedSync } from "../../../core/report/triggers.ts";
import { isoTime } from "../../../core/time.ts";
import type { DeadLetter } from "../../../queue/dead-letters/dead-letters.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";
import {
  actOnLetters,
  chosenLetters,
  type LetterAction,
  recorded,
  renderMembers,
  renderPauses,
  renderQueues,
} from "../../worker/steer.ts";
import { connectWorker, type WorkerConnection } from "../../worker/worker-connection.ts";

const ACTIONS: readonly LetterAction[] = ["retry", "drop"];

const inputSchema = z.object({
  args: z.array(z.string()).default([]),
  all: z.boolean().default(false),
  queue: z.string().optional(),
  failed: z.boolean().default(false),
  retry: z.string().optional(),
  cancel: z.string().optional(),
});

const activeJson = ({ runId, askedAt, profile, state, paused = false }: AskedSync) => ({
  run_id: runId,
  profile,
  state,
  asked_at: isoTime(askedAt),
  paused,
});
/** State as shown. A sync may have ended although no worker has taken all of its jobs yet. */
const stateOf = ({ state, paused = false }: AskedSync): string => {
  if (state !== "queued" && state !== "running") return `${state}, until a worker takes its jobs`;
  return paused ? `${state}, paused` : state;
};

const failedJson = ({ id, name, profile, runId, failedAt, problem }: DeadLetter) => ({
  id,
  job: name,
  profile,
  run_id: runId,
  failed_at: isoTime(failedAt),
  error: problem,
});

const NONE_KEPT =
  "Without Redis (REDIS_URL) no failed jobs are kept. `duckmirror status` shows the last runs and their errors.\n";

/** Failed jobs. Without Redis none are kept; `status` shows failures. */
const lettersOf = async ({ queues }: WorkerConnection): Promise<readonly DeadLetter[]> => {
  if (queues === null) return [];
  const { deadLetters } = await import("../../../queue/dead-letters/dead-letters.ts");
  return deadLetters(queues);
};

const show = async (onlyFailed: boolean, worker: WorkerConnection, { shared, terminal, printJson }: CommandContext) => {
  const list = await lettersOf(worker);
  const active = onlyFailed ? [] : await worker.triggers.active();
  const fleet = onlyFailed ? null : ((await worker.fleet?.read()) ?? null);
  const unable = onlyFailed ? [] : await worker.unable();
  if (shared.json) {
    const failed = list.map(failedJson);
    const { queues, members, paused } = fleet ?? { queues: [], members: [], paused: [] };
    const all = { active: active.map(activeJson), failed, queues, members, paused, unable };
    await printJson(onlyFailed ? { failed } : all);
    return;
  }
  const { columns } = terminal;
  if (fleet !== null) await terminal.out(renderPauses(fleet));
  for (const { profile, host, code, message, hint } of unable) {
    await terminal.out(
      `Profile ${profile} cannot sync${host === null ? "" : ` on ${host}`}: ${code}: ${message} ${hint}\n`,
    );
  }
  if (active.length > 0) {
    const rows = active.map((sync) => [sync.runId, sync.profile, stateOf(sync), isoTime(sync.askedAt)]);
    const heads = ["run", "profile", "state", "asked at"].map((name) => ({ name }));
    await terminal.out(`${renderTable(heads, rows, columns)}\n`);
  } else if (!onlyFailed) await terminal.out("Nothing is queued or under way.\n");
  if (fleet !== null) await terminal.out(renderQueues(fleet, columns) + renderMembers(fleet, columns));
  if (list.length === 0) {
    if (onlyFailed) await terminal.out(worker.queues === null ? NONE_KEPT : "No job has failed.\n");
    return;
  }
  const rows = list.map(({ id, profile, failedAt, problem }) => [
    id,
    profile ?? "?",
    isoTime(failedAt),
    problem === null ? "" : `${problem.code}: ${problem.message}`,
  ]);
  const heads = ["failed job", "profile", "failed at", "why"].map((name) => ({ name }));
  await terminal.out(`${renderTable(heads, rows, columns)}\n`);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[action]", "retry or drop, for failed jobs: by id, --queue or --all")
      .argument("[ids...]", "failed jobs")
      .option("--all", "retry or drop every failed job")
      .option("--queue <name>", "retry or drop the failed jobs of one queue")
      .option("--failed", "only jobs that failed; Redis keeps them for 30 days")
      .option("--retry <id>", "request the work of a failed job again, and drop the job; `all` for every one")
      .option("--cancel <run>", "end a sync at its next checkpoint, or before it starts"),
  examples: {
    "duckmirror jobs": "queued, running and failed jobs, queues, workers and pauses",
    "duckmirror jobs --failed --json": "failed jobs, for a monitor",
    "duckmirror jobs --retry all": "retry all failed jobs, after the cause is mended",
    "duckmirror jobs retry --queue publish": "retry the failed jobs of one queue; `--all` for every one, or ids",
    "duckmirror jobs drop 20261121T050000Z-k3x9a1.signals": "remove one failed job; `--queue` or `--all` for many",
    "duckmirror jobs --cancel 20261121T050000Z-k3x9a1": "end one sync",
  },
  input: inputSchema,
  run: async (input, context) => {
    const [word, ...ids] = input.args;
    const action = ACTIONS.find((known) => known === word);
    if (word !== undefined && action === undefined) {
      throw new DuckmirrorError("USAGE", { detail: `"${word}" is not ${ACTIONS.join(" or ")}` });
    }
    const choice = action === undefined ? null : chosenLetters({ ids, all: input.all, queue: input.queue });
    if (action === undefined && (input.all || input.queue !== undefined)) {
      throw new DuckmirrorError("USAGE", { detail: "--all and --queue belong to `jobs retry` and `jobs drop`" });
    }
    const profiles = await context.loadProfiles();
    const [config] = profiles;
    if (config === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: "there is no profile" });
    const worker = await connectWorker(profiles, context);
    try {
      if (action !== undefined && choice !== null) return await actOnLetters(action, choice, worker, config, context);
      if (input.retry !== undefined) {
        const named = chosenLetters(
          input.retry === "all" ? { ids: [], all: true } : { ids: [input.retry], all: false },
        );
        return await actOnLetters("retry", named, worker, config, context);
      }
      if (input.cancel === undefined) {
        await show(input.failed, worker, context);
        return EXIT.done;
      }
      const run = input.cancel;
      const cancel = async () => {
        if (!(await worker.triggers.cancel(run))) throw new DuckmirrorError("RUN_UNKNOWN", { run });
      };
      await recorded({ action: "cancel" }, worker, config, context, cancel, () => ({ runId: run }));
      if (context.shared.json) await context.printJson({ run_id: run, cancelling: true });
      else await context.terminal.out(`${run} is being cancelled\n`);
      return EXIT.done;
    } finally {
      await worker.close();
    }
  },
});
