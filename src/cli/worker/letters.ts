// Retries and drops failed jobs, one or many, for `jobs`.
import type { Config } from "../../core/config/config.ts";
import { DuckmirrorError, EXIT } from "../../core/errors.ts";
import type { CommandContext } from "../command.ts";
import { recorded } from "./steer.ts";
import type { WorkerConnection } from "./worker-connection.ts";

export type LetterAction = "retry" | "drop";

/** Which letters: by id, those of one queue, or all. */
export type Choice =
  | { readonly by: "id"; readonly ids: readonly string[] }
  | { readonly by: "queue"; readonly queue: string }
  | { readonly by: "all" };

interface Typed {
  readonly ids: readonly string[];
  readonly all: boolean;
  readonly queue?: string | undefined;
}

/** Throws USAGE unless exactly one way is used. */
export const chosenLetters = ({ ids, all, queue }: Typed): Choice => {
  const ways = [ids.length > 0, all, queue !== undefined].filter(Boolean).length;
  if (ways !== 1)
    throw new DuckmirrorError("USAGE", { detail: "name failed jobs by id, or by --queue NAME, or --all" });
  if (queue !== undefined) return { by: "queue", queue };
  return all ? { by: "all" } : { by: "id", ids };
};

type Redis = { readonly queues: NonNullable<WorkerConnection["queues"]> };

/** The parts of the connection that need Redis. Throws USAGE without it. */
const inRedis = ({ queues }: WorkerConnection): Redis => {
  if (queues !== null) return { queues };
  throw new DuckmirrorError("USAGE", {
    detail: "failed jobs are kept in Redis only (REDIS_URL); `duckmirror trigger` asks for a sync",
  });
};

/** The queue's name, checked. Throws USAGE. */
const knownQueue = ({ queues }: Redis, name: string): string => {
  const names = Object.values(queues).map((queue) => queue.name);
  if (names.includes(name)) return name;
  throw new DuckmirrorError("USAGE", { detail: `"${name}" is no queue. Queues: ${names.join(", ")}` });
};

/** Ids of the letters to retry. Throws USAGE. */
const idsToRetry = async (choice: Choice, worker: Redis): Promise<readonly string[]> => {
  if (choice.by === "id") return choice.ids;
  if (choice.by === "queue") knownQueue(worker, choice.queue);
  const { deadLetters } = await import("../../queue/letters/dead-letters.ts");
  const letters = await deadLetters(worker.queues);
  return letters.filter(({ queue }) => choice.by === "all" || queue === choice.queue).map(({ id }) => id);
};

const retry = async (
  choice: Choice,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
): Promise<number> => {
  const redis = inRedis(worker);
  const { retryLetter } = await import("../../queue/letters/dead-letters.ts");
  const retried: { id: string; run_id: string | null }[] = [];
  const ids = await idsToRetry(choice, redis);
  let problem: unknown = null;
  for (const id of ids) {
    try {
      const again = () => retryLetter(redis.queues, worker.triggers, id);
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
  if (context.shared.json) await context.printJson({ retried });
  else for (const { id, run_id } of retried) await context.terminal.out(`${id} ${run_id ?? "dropped"}\n`);
  return problem === null ? EXIT.done : context.printProblem(problem).exitCode;
};

const drop = async (
  choice: Choice,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
): Promise<number> => {
  const { shared, terminal, printJson } = context;
  const redis = inRedis(worker);
  const { dropLetters } = await import("../../queue/letters/dead-letters.ts");
  const names = Object.values(redis.queues).map((queue) => queue.name);
  const which =
    choice.by === "id"
      ? choice
      : {
          by: "queue" as const,
          queues: choice.by === "all" ? names : [knownQueue(redis, choice.queue)],
        };
  const work = () => dropLetters(redis.queues, which);
  const rowsOf = (result: Awaited<ReturnType<typeof work>>) => ({ rows: result.length });
  const dropped = await recorded({ action: "drop" }, worker, config, context, work, rowsOf);
  if (shared.json) await printJson({ dropped });
  else for (const { id } of dropped) await terminal.out(`${id} dropped\n`);
  return EXIT.done;
};

/** Carries the action out and prints it. Throws USAGE, RUN_UNKNOWN, and the errors of Redis. */
export const actOnLetters = (
  action: LetterAction,
  choice: Choice,
  worker: WorkerConnection,
  config: Config,
  context: CommandContext,
): Promise<number> =>
  action === "retry" ? retry(choice, worker, config, context) : drop(choice, worker, config, context);
