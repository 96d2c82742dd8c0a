// Ends lists of a run: finishes, closes, fails or postpones a list, stores its state in the mirror, and updates the run's counts,
// completeness and suspected deletions. A failure that repeats is noted a few times only; an end that makes other work due requests a new plan.
import { streamSpec } from "../../../catalog/streams.ts";
import { type DuckmirrorError, withHint } from "../../../core/errors.ts";
import { counted } from "../../../core/text/units.ts";
import type { ScopeState, Unconfirmed } from "../../../warehouse/record/checkpoint.ts";
import type { Verdict } from "../../list/events.ts";
import { isActive, isExcerpt, type ListState, liveOf, progressOf } from "../../list/state.ts";
import { finishedState, walkingState } from "../../list/stored-state.ts";
import type { Committer } from "./committer.ts";
import type { Forms } from "./forms.ts";
import type { OpenList } from "./open-list.ts";
import type { RunConstants } from "./run-input.ts";
import type { RunStats } from "./run-stats.ts";
import type { RunTier } from "./run-tier.ts";
import type { SuspectedDeletions } from "./suspected-deletions.ts";
import type { UnusableResponses } from "./unusable-responses.ts";
import type { Work } from "./work.ts";

/** Failures of a stream for one reason that are reported one by one: thousands of lists can fail alike. */
const MOST_REPORTED = 5;

/** Code and reason, without the excerpt of a response that follows it: that may differ each time. */
const reasonOf = ({ code, context }: DuckmirrorError): string =>
  `${code} ${String(context.detail ?? "").split(/[,:]/)[0]}`;

/** What people read of a failure: its text, or that no more failures like it are reported; null: nothing. Counts it. */
export const failureText = (failures: Map<string, number>, stream: string, error: DuckmirrorError): string | null => {
  const reason = `${stream} ${reasonOf(error)}`;
  const earlier = failures.get(reason) ?? 0;
  failures.set(reason, earlier + 1);
  if (earlier > MOST_REPORTED) return null;
  return earlier < MOST_REPORTED
    ? withHint(error)
    : `${stream}: further failures like this one (${error.code}) are not listed; sync.requests has each of them.`;
};

const hasEnded = ({ state }: OpenList): boolean => state.kind === "finished" || state.kind === "failed";

/** What the end of a list changes. */
interface Ended extends RunConstants {
  readonly committer: Committer;
  readonly stats: RunStats;
  readonly unusable: UnusableResponses;
  readonly forms: Forms;
  readonly work: Work;
  readonly suspected: SuspectedDeletions;
  readonly tier: RunTier;
}

export class ListEnds {
  readonly #run: Ended;
  /** Failed lists by stream, code and reason. */
  readonly #failures = new Map<string, number>();

  constructor(run: Ended) {
    this.#run = run;
  }

  /** Stores a list's state in a commit of its own. */
  async commit(state: ScopeState): Promise<void> {
    // Rows of an organization's list may make other lists due once it is done.
    const canWait = streamSpec(state.stream).scope !== "organization";
    await this.#run.committer.commit({ loads: [], requests: [], states: [state], bytes: 0, canWait });
  }

  /** The list is up to date. */
  close(list: OpenList): void {
    if (hasEnded(list)) return;
    const { stats, unusable, forms, work } = this.#run;
    const { state, candidate, stream, key } = list;
    list.transition({ kind: "finished" });
    work.finish(list);
    if (unusable.read(candidate)) work.planAgain();
    if (isExcerpt(state)) return;
    this.#noteAllAccounts(list, state);
    // If the list turned out to return content that its rows lack, it is read completely once.
    const { grants, walkedWith } = forms.ofStream(stream.name);
    const unread = liveOf(state).wantedContent.some((name) => grants.includes(name) && !walkedWith.includes(name));
    const progress = progressOf(state);
    if (unread && progress !== null && progress.kind !== "walk") work.allowAgain(key);
    // Rows of accounts, signals and resolved inputs make company lists and insights due. Without changes, planning can
    // wait until everything else is done, as it runs then in any case; it reads the whole mirror's state.
    if (stats.hasChanged(candidate.stream) && (stream.scope === "organization" || candidate.mode === "resolve"))
      work.planAgain();
  }

  /** A walk of all accounts shows which companies and owners no account brings along, if it began in this run. */
  #noteAllAccounts({ stream }: OpenList, state: ListState): void {
    const isWalk = stream.name === "accounts" && progressOf(state)?.kind === "walk";
    if (!isWalk || liveOf(state).startedAt < this.#run.startedAt) return;
    this.#run.suspected.noteAllAccounts();
    this.#run.work.planAgain();
  }

  /** Stores the state of a list that was read, and closes it. `more`: what its reading does not show. */
  async finish(list: OpenList, verdict: Verdict, more: Partial<ScopeState> = {}): Promise<void> {
    const outcome = { ...verdict, now: this.#run.deps.clock.now(), runId: this.#run.runId };
    await this.commit({ ...finishedState(liveOf(list.state), outcome), ...more });
    this.close(list);
  }

  noteUnconfirmed({ stream }: OpenList, { rows, because }: Unconfirmed): void {
    const text = `${stream.name}: ${counted(rows, "row")} unconfirmed: ${because}`;
    this.#run.deps.emit({ kind: "note", level: "warn", text });
  }

  /** The list failed. Its pages stay committed, and the next run continues there. */
  async fail(
    list: OpenList,
    error: DuckmirrorError,
    outcome: { readonly resumable: boolean; readonly unconfirmed?: number },
  ): Promise<void> {
    if (list.state.kind === "finished") return;
    const { resumable } = outcome;
    list.transition({ kind: "failed", error, resumable });
    const { runId, deps, stats, work, tier } = this.#run;
    const { state } = list;
    work.drop(list);
    const { stream } = list.candidate;
    stats.fail(stream, error);
    const text = failureText(this.#failures, stream, error);
    if (text !== null) deps.emit({ kind: "note", level: "warn", text });
    if (error.code === "TIER_LOWERED") tier.noteLowered();
    if (progressOf(state) === null || isExcerpt(state)) return;
    const row = { ...walkingState(state, runId), error: error.code };
    if (resumable) return this.commit(row);
    const unconfirmed = { rows: outcome.unconfirmed ?? row.unconfirmed?.rows ?? 0, because: error.message };
    const checkedAt = deps.clock.now();
    await this.commit({ ...row, status: "failed", walkId: null, cursor: null, unconfirmed, checkedAt });
  }

  /** Leaves the list unfinished; the next run continues it. */
  postpone(list: OpenList): void {
    if (isActive(list.state)) for (const read of list.state.requests.unsent) list.transition({ kind: "lost", read });
    this.#run.work.drop(list);
    this.#run.stats.leave(list.candidate.stream);
  }
}
