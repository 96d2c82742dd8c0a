// duckmirror jobs: lists queued, running and failed jobs, queues, members and pauses; retries, drops and cancels.
import { z } from "zod";
import { DuckmirrorError, EXIT, withHint } from "../../../core/errors.ts";
import type { RequestedSync } from "../../../core/report/triggers.ts";
import { isoTime } from "../../../core/time.ts";
import type { DeadLetter } from "../../../queue/dead-letters/dead-letters.ts";
import { anyArguments, type CommandContext, defineCommand, flag, option, usage } from "../../command.ts";
import { renderTable } from "../../terminal/table.ts";
import {
  chosenDeadLetters,
  type DeadLetterAction,
  recorded,
  renderMembers,
  renderPauses,
  renderQueues,
  retryOrDrop,
} from "../../worker/control-queues.ts";
import { connectWorker, type WorkerConnection } from "../../worker/worker-connection.ts";

const ACTIONS: readonly DeadLetterAction[] = ["retry", "drop"];

const activeJson = ({ runId, askedAt, profile, state, paused = false }: RequestedSync) => ({
  run_id: runId,
  profile,
  state,
  asked_at: isoTime(askedAt),
  paused,
});
/** State as shown. A sync may have ended although no worker has taken all of its jobs yet. */
const stateOf = ({ state, paused = false }: RequestedSync): string => {
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
  for (const { profile, host, ...problem } of unable) {
    await terminal.out(
      `Profile ${profile} cannot sync${host === null ? "" : ` on ${host}`}: ${problem.code}: ${withHint(problem)}\n`,
    );
  }
  if (active.length > 0) {
    const rows = active.map((sync) => [sync.runId, sync.profile, stateOf(sync), isoTime(sync.askedAt)]);
    await terminal.out(`${renderTable(["run", "profile", "state", "asked at"], rows, columns)}\n`);
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
    problem === null ? null : `${problem.code}: ${problem.message}`,
  ]);
  await terminal.out(`${renderTable(["failed job", "profile", "failed at", "why"], rows, columns)}\n`);
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .argument("[action]", "retry or drop, for failed jobs: by id, --queue or --all")
      .argument("[ids...]", "failed jobs"),
  examples: {
    "duckmirror jobs": "queued, running and failed jobs, queues, workers and pauses",
    "duckmirror jobs --failed --json": "failed jobs, for a monitor",
    "duckmirror jobs --retry all": "retry all failed jobs, after the cause is mended",
    "duckmirror jobs retry --queue publish": "retry the failed jobs of one queue; `--all` for every one, or ids",
    "duckmirror jobs drop 20261121T050000Z-k3x9a1.signals": "remove one failed job; `--queue` or `--all` for many",
    "duckmirror jobs --cancel 20261121T050000Z-k3x9a1": "end one sync",
  },
  input: z.object({
    args: anyArguments,
    all: flag("retry or drop every failed job"),
    queue: option("<name>", "retry or drop the failed jobs of one queue"),
    failed: flag("only jobs that failed; Redis keeps them for 30 days"),
    retry: option("<id>", "request the work of a failed job again, and drop the job; `all` for every one"),
    cancel: option("<run>", "end a sync at its next checkpoint, or before it starts"),
  }),
  run: async (input, context) => {
    const [word, ...ids] = input.args;
    const action = ACTIONS.find((known) => known === word);
    if (word !== undefined && action === undefined) throw usage(`"${word}" is not ${ACTIONS.join(" or ")}`);
    const choice = action === undefined ? null : chosenDeadLetters({ ids, all: input.all, queue: input.queue });
    if (action === undefined && (input.all || input.queue !== undefined))
      throw usage("--all and --queue belong to `jobs retry` and `jobs drop`");
    const profiles = await context.loadProfiles();
    const [config] = profiles;
    const worker = await connectWorker(profiles, context);
    try {
      if (action !== undefined && choice !== null) return await retryOrDrop(action, choice, worker, config, context);
      if (input.retry !== undefined) {
        const named = chosenDeadLetters(
          input.retry === "all" ? { ids: [], all: true } : { ids: [input.retry], all: false },
        );
        return await retryOrDrop("retry", named, worker, config, context);
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
      return await context.show({ run_id: run, cancelling: true }, () => `${run} is being cancelled`);
    } finally {
      await worker.close();
    }
  },
});
