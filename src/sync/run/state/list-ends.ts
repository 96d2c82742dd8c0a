// List ends: closes, fails or postpones a list of a run, and stores its state.
import { ORGANIZATION_LISTS, type StreamName, streamSpec } from "../../../catalog/streams.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import type { ScopeState, Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import type { Verdict } from "../../list/events.ts";
import { isActive, isExcerpt, liveOf, progressOf } from "../../list/state.ts";
import { finishedState, walkingState } from "../../list/stored-state.ts";
import { stateKey } from "../../plan/candidate.ts";
import { isScoped } from "../../rows/row-scope.ts";
import type { OpenList } from "./open-list.ts";
import type { SyncOptions, SyncRun } from "./run-state.ts";

// Lists whose records may come along with insights: those that this mirror holds whole and that no task is reading. While
// a list is read, its pages are newer than embedded records; with a scope of its own, records outside would be embedded too.

type Choice = Pick<SyncOptions, "configured" | "rowScope">;

const mayComeAlong = ({ configured, rowScope }: Choice, name: StreamName): boolean =>
  configured.includes(name) && !isScoped(rowScope, name);

/** The embeddable lists when a run starts. */
export const embeddableLists = (states: ReadonlyMap<string, ScopeState>, options: Choice): Set<StreamName> => {
  return new Set(
    ORGANIZATION_LISTS.filter((name) => {
      const state = states.get(stateKey(name, ""));
      return mayComeAlong(options, name) && state?.status === "idle" && state.walkedAt !== null;
    }),
  );
};

const isList = ({ candidate, state }: OpenList): boolean => progressOf(state) !== null && candidate.scope === "";

/** A list starts to be read: its records do not come along until the list is read. */
export const withholdList = (run: SyncRun, list: OpenList): void => {
  if (isList(list)) run.embeddable.delete(list.stream.name);
};

/** A list was read to the end: its records may come along again. */
const offerList = (run: SyncRun, list: OpenList): void => {
  const { name } = list.stream;
  if (isList(list) && !isExcerpt(list.state) && mayComeAlong(run.options, name)) run.embeddable.add(name);
};

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
  run.active.delete(key);
  if (run.unusable.read(candidate)) run.replan = true;
  offerList(run, list);
  if (isExcerpt(state)) return;
  // If the list turned out to return content that its rows lack, it is read completely once.
  const { grants, walkedWith } = run.forms.ofStream(stream.name);
  const unread = liveOf(state).wantedContent.some((name) => grants.includes(name) && !walkedWith.includes(name));
  const progress = progressOf(state);
  if (stream.name === "accounts" && progress?.kind === "walk" && liveOf(state).startedAt >= run.startedAt) {
    run.embedded.whole = true;
    run.replan = true;
  }
  if (unread && progress !== null && progress.kind !== "walk") run.taken.delete(key);
  // Rows of accounts, signals and resolved inputs make company lists and insights due. Without changes, planning can
  // wait until everything else is done, as it runs then in any case; it reads the whole mirror's state.
  const { inserted, updated, deleted } = run.stats.of(candidate.stream);
  const changed = inserted + updated + deleted > 0;
  if (changed && (stream.scope === "organization" || candidate.mode === "resolve")) run.replan = true;
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
  const { state, key } = list;
  run.active.delete(key);
  const { stream } = list.candidate;
  const stats = run.stats.of(stream);
  stats.failed ??= `${error.code}: ${error.message}`;
  const text = failureText(stats.failures, stream, error);
  if (text !== null) run.deps.emit({ kind: "note", level: "warn", text });
  if (error.code === "TIER_LOWERED") run.tierLowered = true;
  if (progressOf(state) === null || isExcerpt(state)) return;
  const row = { ...walkingState(state, run.runId), error: error.code };
  if (resumable) return commitState(run, row);
  const unconfirmed = { rows: outcome.unconfirmed ?? row.unconfirmed?.rows ?? 0, because: error.message };
  const checkedAt = run.deps.clock.now();
  await commitState(run, { ...row, status: "failed", walkId: null, cursor: null, unconfirmed, checkedAt });
};

/** Leaves the list unfinished; the next run continues it. */
export const putOff = (run: SyncRun, list: OpenList): void => {
  if (isActive(list.state)) for (const read of list.state.requests.unsent) list.tell({ kind: "lost", read });
  run.active.delete(list.key);
  run.stats.of(list.candidate.stream).left = true;
};

/** The number of mirrored rows of a list changed by `by`. */
export const adjustRows = (run: SyncRun, list: OpenList, by: number): void => {
  list.tell({ kind: "rows", by });
  run.rows.set(list.key, liveOf(list.state).rows);
};
