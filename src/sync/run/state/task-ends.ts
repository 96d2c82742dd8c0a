// Task ends: closes, fails or postpones a scope's task, and stores the scope's state.
import { streamSpec } from "../../../catalog/streams.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import type { ScopeState } from "../../../warehouse/record/checkpoint.ts";
import { stateKey } from "../../plan/candidate.ts";
import { walkingState } from "../../task/scope-state.ts";
import { become, isExcerpt, type ScopeTask } from "../../task/scope-task.ts";
import { offerList } from "./embeddable-lists.ts";
import { type SyncRun, shapeOf, taskKey } from "./run-state.ts";

/** Failures of a stream for one reason that are reported one by one: thousands of lists can fail alike. */
const MOST_REPORTED = 5;

/** Code and reason, without the excerpt of a response that follows it: that may differ each time. */
const reasonOf = ({ code, context }: DuckmirrorError): string =>
  `${code} ${String(context.detail ?? "").split(/[,:]/)[0]}`;

/** What people read of a failure: its text, or that no more failures like it are reported; null: nothing. Counts it. */
export const failureText = (failures: Map<string, number>, stream: string, error: DuckmirrorError): string | null => {
  const reason = reasonOf(error);
  const earlier = failures.get(reason) ?? 0;
  failures.set(reason, earlier + 1);
  if (earlier > MOST_REPORTED) return null;
  return earlier < MOST_REPORTED
    ? `${error.message} ${error.hint}`
    : `${stream}: further failures like this one (${error.code}) are not listed; sync.requests has each of them.`;
};

/** Stores a scope's state in a commit of its own. */
export const commitState = async (run: SyncRun, state: ScopeState): Promise<void> => {
  // Rows of an organization's list may make other lists due once it is done.
  const canWait = streamSpec(state.stream).scope !== "organization";
  await run.committer.commit({ loads: [], requests: [], states: [state], bytes: 0, canWait });
};

/**
 * Notes that the service refused a company's list with 403, which ended the run: the next plan reads all else first
 * (decision 0160). Rows and cursor stay.
 */
export const noteForbidden = async (run: SyncRun, task: ScopeTask): Promise<void> => {
  if (task.stream.scope !== "company" || task.progress === null || isExcerpt(task)) return;
  await commitState(run, { ...walkingState(task, run.runId), error: "CREDENTIALS_REFUSED" });
};

/** The task is done: its scope is up to date. */
export const closeTask = (run: SyncRun, task: ScopeTask): void => {
  if (!become(task, "finished")) return;
  run.active.delete(taskKey(task));
  if (run.unusable.read(task.candidate)) run.replan = true;
  run.doubts.clear(task.candidate);
  offerList(run, task);
  if (isExcerpt(task)) return;
  // If the list turned out to return content that its rows lack, it is read completely once.
  const { grants, walkedWith } = shapeOf(run, task.stream.name);
  const unread = task.wantedContent.some((name) => grants.includes(name) && !walkedWith.includes(name));
  if (unread && task.progress !== null && task.progress.kind !== "walk") run.taken.delete(taskKey(task));
  // Rows of accounts, signals and resolved inputs make company lists and insights due. Without changes, planning can
  // wait until everything else is done, as it runs then in any case; it reads the whole mirror's state.
  const { inserted, updated, deleted } = run.stats.of(task.candidate.stream);
  const changed = inserted + updated + deleted > 0;
  if (changed && (task.stream.scope === "organization" || task.candidate.mode === "resolve")) run.replan = true;
};

/** The task failed. Its pages stay committed, and the next run continues there. */
export const failTask = async (
  run: SyncRun,
  task: ScopeTask,
  error: DuckmirrorError,
  outcome: { readonly resumable: boolean; readonly unconfirmed?: number },
): Promise<void> => {
  if (!become(task, "failed")) return;
  task.ready = [];
  run.active.delete(taskKey(task));
  const { stream } = task.candidate;
  const stats = run.stats.of(stream);
  stats.failed ??= `${error.code}: ${error.message}`;
  const text = failureText(stats.failures, stream, error);
  if (text !== null) run.deps.emit({ kind: "note", level: "warn", text });
  if (error.code === "TIER_LOWERED") run.tierLowered = true;
  if (task.progress === null || isExcerpt(task)) return;
  const state = walkingState(task, run.runId);
  await commitState(
    run,
    outcome.resumable
      ? { ...state, error: error.code }
      : {
          ...state,
          status: "failed",
          walkId: null,
          cursor: null,
          unconfirmed: { rows: outcome.unconfirmed ?? state.unconfirmed?.rows ?? 0, because: error.message },
          error: error.code,
          checkedAt: run.deps.clock.now(),
        },
  );
};

/** Leaves the task unfinished; the next run continues it. */
export const putOff = (run: SyncRun, task: ScopeTask): void => {
  task.ready = [];
  run.active.delete(taskKey(task));
  run.stats.of(task.candidate.stream).left = true;
};

/** The number of mirrored rows of a task's list changed by `difference`. */
export const adjustRows = (run: SyncRun, task: ScopeTask, difference: number): void => {
  task.rows += difference;
  run.rows.set(stateKey(task.candidate.stream, task.candidate.scope), task.rows);
};
