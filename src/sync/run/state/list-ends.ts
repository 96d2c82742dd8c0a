// List ends: closes, fails or postpones a list of a run, and stores its state.
import { streamSpec } from "../../../catalog/streams.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import type { ScopeState, Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import type { Verdict } from "../../list/events.ts";
import { isActive, isExcerpt, liveOf, progressOf } from "../../list/state.ts";
import { finishedState, walkingState } from "../../list/stored-state.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncRun } from "./run-state.ts";

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

/** Stores a list's state in a commit of its own. */
export const commitState = async (run: SyncRun, state: ScopeState): Promise<void> => {
  // Rows of an organization's list may make other lists due once it is done.
  const canWait = streamSpec(state.stream).scope !== "organization";
  await run.committer.commit({ loads: [], requests: [], states: [state], bytes: 0, canWait });
};

const hasEnded = ({ state }: OpenList): boolean => state.kind === "finished" || state.kind === "failed";

/** The list is up to date. */
export const closeList = (run: SyncRun, list: OpenList): void => {
  if (hasEnded(list)) return;
  const { state, candidate, stream, key } = list;
  list.tell({ kind: "finished" });
  run.work.finish(list);
  if (run.unusable.read(candidate)) run.work.planAgain();
  if (isExcerpt(state)) return;
  // If the list turned out to return content that its rows lack, it is read completely once.
  const { grants, walkedWith } = run.forms.ofStream(stream.name);
  const unread = liveOf(state).wantedContent.some((name) => grants.includes(name) && !walkedWith.includes(name));
  const progress = progressOf(state);
  if (stream.name === "accounts" && progress?.kind === "walk" && liveOf(state).startedAt >= run.startedAt) {
    run.gone.noteAllAccounts();
    run.work.planAgain();
  }
  if (unread && progress !== null && progress.kind !== "walk") run.work.allowAgain(key);
  // Rows of accounts, signals and resolved inputs make company lists and insights due. Without changes, planning can
  // wait until everything else is done, as it runs then in any case; it reads the whole mirror's state.
  const { inserted, updated, deleted } = run.stats.of(candidate.stream);
  const changed = inserted + updated + deleted > 0;
  if (changed && (stream.scope === "organization" || candidate.mode === "resolve")) run.work.planAgain();
};

/** Stores the state of a list that was read, and closes it. `more`: what its reading does not show. */
export const finishList = async (
  run: SyncRun,
  list: OpenList,
  verdict: Verdict,
  more: Partial<ScopeState> = {},
): Promise<void> => {
  const outcome = { ...verdict, now: run.deps.clock.now(), runId: run.runId };
  await commitState(run, { ...finishedState(liveOf(list.state), outcome), ...more });
  closeList(run, list);
};

export const noteUnconfirmed = (run: SyncRun, { stream }: OpenList, { rows, because }: Unconfirmed): void => {
  const text = `${stream.name}: ${counted(rows, "row")} unconfirmed: ${because}`;
  run.deps.emit({ kind: "note", level: "warn", text });
};

/** The list failed. Its pages stay committed, and the next run continues there. */
export const failList = async (
  run: SyncRun,
  list: OpenList,
  error: DuckmirrorError,
  outcome: { readonly resumable: boolean; readonly unconfirmed?: number },
): Promise<void> => {
  if (list.state.kind === "finished") return;
  const { resumable } = outcome;
  list.tell({ kind: "failed", error, resumable });
  run.work.drop(list);
  const { stream } = list.candidate;
  const stats = run.stats.of(stream);
  stats.failed ??= `${error.code}: ${error.message}`;
  const text = failureText(stats.failures, stream, error);
  if (text !== null) run.deps.emit({ kind: "note", level: "warn", text });
  if (error.code === "TIER_LOWERED") run.tierLowered = true;
  if (progressOf(list.state) === null || isExcerpt(list.state)) return;
  const row = { ...walkingState(list.state, run.runId), error: error.code };
  if (resumable) return commitState(run, row);
  const unconfirmed = { rows: outcome.unconfirmed ?? row.unconfirmed?.rows ?? 0, because: error.message };
  const checkedAt = run.deps.clock.now();
  await commitState(run, { ...row, status: "failed", walkId: null, cursor: null, unconfirmed, checkedAt });
};

/** Leaves the list unfinished; the next run continues it. */
export const putOff = (run: SyncRun, list: OpenList): void => {
  if (isActive(list.state)) for (const read of list.state.requests.unsent) list.tell({ kind: "lost", read });
  run.work.drop(list);
  run.stats.of(list.candidate.stream).left = true;
};

/** The number of mirrored rows of a list changed by `by`. */
export const adjustRows = (run: SyncRun, list: OpenList, by: number): void => {
  list.tell({ kind: "rows", by });
  run.work.countRows(list);
};
