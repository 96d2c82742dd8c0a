// Shared code of the commands `pause`, `resume` and `jobs`, which control workers through Redis: their options, pausing a profile, a
// queue or the fleet, retrying and dropping dead letters, and tables of queues, workers and pauses.
import type { Command } from "commander";
import { z } from "zod";
import type { Config } from "../../core/config/config.ts";
import { EXIT } from "../../core/errors.ts";
import type { Fleet, Pause } from "../../core/report/fleet.ts";
import { visible } from "../../core/text/shown-text.ts";
import { formatDuration } from "../../core/text/units.ts";
import { isoTime } from "../../core/time.ts";
import type { AuditedAction, Result } from "../../warehouse/audit/trail.ts";
import { audited } from "../audited.ts";
import { type CommandContext, flag, option, usage } from "../command.ts";
import { renderTable, right } from "../terminal/table.ts";
import { connectWorker, type WorkerConnection } from "./worker-connection.ts";

// Retries and drops failed jobs, one or many, for `jobs`.

export type DeadLetterAction = "retry" | "drop";

/** Which letters: by id, those of one queue, or all. */
type Choice =
  | { readonly by: "id"; readonly ids: readonly string[] }
  | { readonly by: "queue"; readonly queue: string }
  | { readonly by: "all" };

interface Typed {
  readonly ids: readonly string[];
  readonly all: boolean;
  readonly queue?: string | undefined;
}

/** Throws USAGE unless exactly one way is used. */
export const chosenDeadLetters = ({ ids, all, queue }: Typed): Choice => {
  const ways = [ids.length > 0, all, queue !== undefined].filter(Boolean).length;
  if (ways !== 1) throw usage("name failed jobs by id, or by --queue NAME, or --all");
  if (queue !== undefined) return { by: "queue", queue };
  return all ? { by: "all" } : { by: "id", ids };
};

type Redis = { readonly queues: NonNullable<WorkerConnection["queues"]> };

/** The parts of the connection that need Redis. Throws USAGE without it. */
const inRedis = ({ queues }: WorkerConnection): Redis => {
  if (queues !== null) return { queues };
  throw usage("failed jobs are kept in Redis only (REDIS_URL); `duckmirror trigger` asks for a sync");
};

/** The queue's name, checked. Throws USAGE. */
const knownQueue = ({ queues }: Redis, name: string): string => {
  const names = Object.values(queues).map((queue) => queue.name);
  if (names.includes(name)) return name;
  throw usage(`"${name}" is no queue. Queues: ${names.join(", ")}`);
};

/** Ids of the letters to retry. Throws USAGE. */
const idsToRetry = async (choice: Choice, worker: Redis): Promise<readonly string[]> => {
  if (choice.by === "id") return choice.ids;
  if (choice.by === "queue") knownQueue(worker, choice.queue);
  const { deadLetters } = await import("../../queue/dead-letters/dead-letters.ts");
  const letters = await deadLetters(worker.queues);
  return letters.filter(({ queue }) => choice.by === "all" || queue === choice.queue).map(({ id }) => id);
};

/** Retries or drops the chosen dead letters; returns the exit code. */
type ActOnDeadLetters = (
  choice: Choice,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
) => Promise<number>;

const retry: ActOnDeadLetters = async (choice, worker, config, context) => {
  const redis = inRedis(worker);
  const { retryDeadLetter } = await import("../../queue/dead-letters/dead-letters.ts");
  const retried: { id: string; run_id: string | null }[] = [];
  const ids = await idsToRetry(choice, redis);
  let problem: unknown = null;
  for (const id of ids) {
    try {
      const again = () => retryDeadLetter(redis.queues, worker.triggers, id);
      retried.push({
        id,
        run_id: await recorded({ action: "retry" }, worker, config, context, again, (runId) => ({ runId })),
      });
    } catch (error) {
      // Of many, an unreadable letter does not stop the others.
      if (choice.by === "id" && ids.length === 1) throw error;
      problem = error;
    }
  }
  const code = await context.show({ retried }, () =>
    retried.map(({ id, run_id }) => `${id} ${run_id ?? "dropped"}`).join("\n"),
  );
  return problem === null ? code : context.printProblem(problem);
};

const drop: ActOnDeadLetters = async (choice, worker, config, context) => {
  const redis = inRedis(worker);
  const { dropDeadLetters } = await import("../../queue/dead-letters/dead-letters.ts");
  const names = Object.values(redis.queues).map((queue) => queue.name);
  const which =
    choice.by === "id"
      ? choice
      : {
          by: "queue" as const,
          queues: choice.by === "all" ? names : [knownQueue(redis, choice.queue)],
        };
  const work = () => dropDeadLetters(redis.queues, which);
  const rowsOf = (result: Awaited<ReturnType<typeof work>>) => ({ rows: result.length });
  const dropped = await recorded({ action: "drop" }, worker, config, context, work, rowsOf);
  return context.show({ dropped }, () => dropped.map(({ id }) => `${id} dropped`).join("\n"));
};

/** Carries the action out and prints it. Throws USAGE, RUN_UNKNOWN, and the errors of Redis. */
export const retryOrDrop = (action: DeadLetterAction, ...chosen: Parameters<ActOnDeadLetters>): Promise<number> =>
  (action === "retry" ? retry : drop)(...chosen);

// Queues, members and pauses of the fleet as tables for people. Pure.

export const pauseName = ({ kind, name }: Pick<Pause, "kind" | "name">): string =>
  kind === "fleet" ? "the fleet" : `${kind} ${visible(name ?? "?")}`;

/** One line for each pause; empty: nothing is paused. */
export const renderPauses = ({ paused }: Fleet): string =>
  paused
    .map((pause) => `Paused${pause.since === null ? "" : ` since ${isoTime(pause.since)}`}: ${pauseName(pause)}\n`)
    .join("");

export const renderQueues = ({ queues }: Fleet, columns: number): string => {
  const heads = ["queue", ...["waiting", "active", "delayed", "failed", "oldest waits"].map(right)];
  const rows = queues.map(({ name, paused, waiting, active, delayed, failed, oldest_waiting_ms }) => [
    `${name}${paused ? " (paused)" : ""}`,
    ...[waiting, active, delayed, failed].map(String),
    oldest_waiting_ms === null ? null : formatDuration(oldest_waiting_ms),
  ]);
  return `${renderTable(heads, rows, columns)}\n`;
};

export const renderMembers = ({ members }: Fleet, columns: number): string => {
  if (members.length === 0) return "No worker is registered.\n";
  const heads = ["version", "host", right("process"), right("in flight"), "since", "last seen"];
  const rows = members.map((member) => {
    const { version, host, pid, in_flight, since, silent_ms } = member;
    const seen = silent_ms === null ? "now" : `silent for ${formatDuration(silent_ms)}`;
    return [version, host, String(pid), String(in_flight), isoTime(since), seen];
  });
  return `${renderTable(heads, rows, columns)}\n`;
};

// Changes of the queue with their lines in the audit trail. Over HTTP, the worker's server writes the line.

/** Does `work`; `resultOf` says what it came to. Throws AUDIT_UNWRITABLE where the trail is required. */
export const recorded = async <T>(
  action: Pick<AuditedAction, "action" | "subject">,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
  work: () => Promise<T>,
  resultOf: (value: T) => Partial<Result>,
): Promise<T> => (worker.queues === null ? work() : audited(config, context, action, work, resultOf));

type Verb = "pause" | "resume";

/** The options; --profile is one of every command. */
export const targetsInput = (verb: Verb) =>
  z.object({
    queue: option("<name>", `${verb} one queue, as \`duckmirror jobs\` names it`),
    fleet: flag(`${verb} the start of all syncs`),
  });
type Targets = z.output<ReturnType<typeof targetsInput>>;

export const explainTargets = (cli: Command, verb: Verb): Command =>
  cli.addHelpText(
    "after",
    `\n--profile NAME ${verb}s one profile. Several targets may be named at once. Needs Redis (REDIS_URL), which keeps what is paused.`,
  );

type Target = Pick<Pause, "kind" | "name">;

/** Throws USAGE where nothing is named. */
const targetsOf = ({ queue, fleet }: Targets, profile: string | undefined): readonly Target[] => {
  const targets: Target[] = [];
  if (fleet) targets.push({ kind: "fleet", name: null });
  if (profile !== undefined) targets.push({ kind: "profile", name: profile });
  if (queue !== undefined) targets.push({ kind: "queue", name: queue });
  if (targets.length > 0) return targets;
  throw usage("name a target: --profile NAME, --queue NAME or --fleet");
};

/** Pauses or resumes the targets, and prints what is paused and how many syncs still run. */
export const pauseOrResume = async (verb: Verb, input: Targets, context: CommandContext): Promise<number> => {
  const { shared, terminal } = context;
  const targets = targetsOf(input, shared.profile);
  const profiles = await context.loadProfiles();
  const [config] = profiles;
  const worker = await connectWorker(profiles, context);
  const { fleet } = worker;
  try {
    if (fleet === null) throw usage(`\`${verb}\` needs Redis (REDIS_URL), which keeps what is paused`);
    const done: (Target & { readonly changed: boolean })[] = [];
    for (const target of targets) {
      const action = { action: verb, subject: pauseName(target) };
      const work = () => fleet.steering[verb](target);
      done.push({ ...target, changed: await recorded(action, worker, config, context, work, () => ({})) });
    }
    const { paused } = await fleet.read();
    const active = await worker.triggers.active();
    const running = active.filter(({ state }) => state === "running").length;
    if (shared.json) {
      await context.printJson({ [verb === "pause" ? "pauses" : "resumes"]: done, paused, running });
      return EXIT.done;
    }
    const is = verb === "pause" ? "is paused" : "is resumed";
    const was = verb === "pause" ? "was paused already" : "was not paused";
    for (const { changed, ...target } of done) await terminal.out(`${pauseName(target)} ${changed ? is : was}\n`);
    if (verb === "pause" && running > 0) {
      await terminal.out(`${running} ${running === 1 ? "sync runs" : "syncs run"} to the end\n`);
    }
    return EXIT.done;
  } finally {
    await worker.close();
  }
};
