// Dispatcher: the main loop of a sync run. Sends the most valuable ready request (backlog.ts) as soon as the rate allows, while credits
// last, several at a time, and applies each response (apply-response.ts).
//
//   promote candidates -> pick the most valuable request -> launch it -> ... until nothing is left or the run ends,
//   then wait for requests in flight.
import { streamSpec } from "../../catalog/streams.ts";
import { isBeyondEnd } from "../list/coverage/list-end.ts";
import type { ReadRequest } from "../list/coverage/read-types.ts";
import { hasGoneOn, isActive, liveOf, progressOf, requestsOf, underWayOf } from "../list/state.ts";
import { totalOf } from "../list/stored-state.ts";
import { readSoFar } from "../list/ways/progress.ts";
import type { Plan, Planner } from "../plan/make-plan.ts";
import type { Fetched } from "../request/fetcher.ts";
import { creditsOf } from "../request/turn.ts";
import { continueAfterRefusal, readChangesMeanwhile } from "./after-refused-page.ts";
import { applyNotFound, applyPage, applyRecord, applyRefusedEnd, commitLedger } from "./apply-response.ts";
import { type Backlog, createBacklog, hasReady, mostValuable } from "./backlog.ts";
import { pageSizeOf } from "./learn-form.ts";
import { negotiateForm, requestSmallerPages } from "./negotiate-form.ts";
import { buildNextRequest, purposeOf, type SentRequest } from "./next-request.ts";
import { deleteAbsentCompanies } from "./reconcile/delete-absent-records.ts";
import { deleteMissingRows } from "./reconcile/delete-missing-rows.ts";
import type { OpenList } from "./state/open-list.ts";
import type { Run, SyncRun } from "./state/run-state.ts";

// Reports a stream's progress in numbers after every response.

/** Expected pages of a stream: from the list's length if it has one list, else from the number of due lists. */
export const pagesTotal = (
  { stream, state }: Pick<OpenList, "stream" | "state">,
  stats: { readonly planned: number; readonly pages: number },
): number | null => {
  if (stream.scope !== "organization") return Math.max(stats.planned, stats.pages);
  const total = totalOf(liveOf(state));
  const progress = progressOf(state);
  if (progress?.kind !== "walk" || total === null) return null;
  return Math.max(stats.pages, Math.ceil(total / pageSizeOf(progress)));
};

const emitPage = (run: Run<"stats">, list: OpenList): void => {
  const { stream } = list.candidate;
  const stats = run.stats.of(stream);
  const { requests, credits, rows, pages } = stats;
  run.deps.emit({
    kind: "page",
    stream,
    requests,
    credits,
    rows,
    pagesDone: pages,
    pagesTotal: pagesTotal(list, stats),
    rowsTotal: list.stream.scope === "organization" ? totalOf(liveOf(list.state)) : null,
  });
};

/** Most uncommitted responses; fetching continues while they are written. */
const MOST_UNCOMMITTED = 256;
/** Most decoded bytes of these and of requests in flight; parsed, they take several times that memory. */
const MOST_UNCOMMITTED_BYTES = 4 * 1024 * 1024;

type Picked = Pick<SentRequest, "list" | "read">;

/** Requests and responses in progress. */
interface Traffic {
  /** Requests without a response. */
  flying: number;
  /** The same, plus uncommitted responses. */
  open: number;
  /** Decoded size of a response in bytes, estimated from the latest ones. */
  answerBytes: number;
  /** The last request found no credit; try again when something in progress ends. */
  penniless: boolean;
  /** Ends the wait for a change of these figures. */
  wake: () => void;
}

const changed = (traffic: Traffic): Promise<void> =>
  new Promise((resolve) => {
    traffic.wake = resolve;
  });

/** True when there is room for one more request, in flight and in memory for its response. */
const hasRoom = (run: Run<"committer" | "fetcher">, { flying, answerBytes }: Traffic): boolean =>
  flying < (run.fetcher.isDoubtful() ? 1 : run.options.concurrency) &&
  run.committer.waiting() < MOST_UNCOMMITTED &&
  run.committer.waitingBytes() + Math.max(0, flying + 1 - run.options.largeInFlight) * answerBytes <
    MOST_UNCOMMITTED_BYTES;

const pick = (run: Run<"budgets" | "fetcher" | "forms" | "unusable" | "work">): Picked | null => {
  const list = mostValuable(run);
  if (list === null) return null;
  const { state } = list;
  const read = (isActive(state) ? state.requests.unsent[0] : null) ?? null;
  list.transition({ kind: "sent", read });
  return { list, read };
};

/** Takes a request back that was not sent. Its list decides again, because it may have changed. */
const unpick = async (run: Run<"reader">, { list, read }: Picked): Promise<void> => {
  list.transition({ kind: "unsent", read });
  if (read !== null) await run.reader.goOn(list);
};

const noteUnusable = (run: Run<"unusable">, { list, read }: Picked, free: boolean): void =>
  run.unusable.failed(list.candidate, {
    goneOn: hasGoneOn(list.state, run.startedAt),
    deep: read !== null && read.page > 1,
    free,
  });

/** Applies a failure: smaller pages, another way of reading, or the end of the list in this run. */
const takeFailure = async (
  run: Run<"ends" | "fetcher" | "forms" | "reader" | "unusable" | "work">,
  { list, read }: Picked,
  { error, notFound, size }: Extract<Fetched["result"], { kind: "failed" }>,
): Promise<void> => {
  if (read !== null) {
    list.transition({ kind: "lost", read });
    if (notFound && (await continueAfterRefusal(run, list, read, error))) return;
    if (size !== null && (await requestSmallerPages(run, list, read, size))) return;
    if (await readChangesMeanwhile(run, list, read, error)) return;
  }
  return run.ends.fail(list, error, { resumable: true });
};

/** True for a refusal of what follows the last known row of a list. */
const isPastEnd = ({ state }: OpenList, read: ReadRequest, result: Fetched["result"]): boolean => {
  const isRefusal =
    result.kind === "absent" || result.kind === "adjust" || (result.kind === "failed" && result.notFound);
  const progress = progressOf(state);
  return isRefusal && progress !== null && isBeyondEnd(readSoFar(progress), read);
};

/** Applies the outcome of a request. */
const take = async (run: SyncRun, sent: SentRequest, result: Fetched["result"]): Promise<void> => {
  const { list, read } = sent;
  if (read !== null && result.kind !== "answer" && isPastEnd(list, read, result))
    return applyRefusedEnd(run, { ...sent, read });
  switch (result.kind) {
    case "answer":
      await (read === null ? applyRecord(run, sent, result) : applyPage(run, { ...sent, read }, result));
      return emitPage(run, list);
    case "absent":
      await applyNotFound(run, sent, result);
      return emitPage(run, list);
    case "adjust":
      // The list's other requests need the new shape at once, not only when this one is in the ledger.
      await Promise.all([commitLedger(run, sent), negotiateForm(run, sent, result.outcome)]);
      return;
    case "failed":
      // Before the commit: until then further requests of a stream are sent whose answers cannot be used.
      if (result.paid || result.own) noteUnusable(run, sent, !result.paid);
      await commitLedger(run, sent);
      return takeFailure(run, sent, result);
    case "ended":
      await commitLedger(run, sent);
      if (read !== null) list.transition({ kind: "lost", read });
      run.ends.postpone(list);
      return emitPage(run, list);
    case "no-credit":
      return unpick(run, sent);
    default:
      return result satisfies never;
  }
};

/** The order of a request, in the form that is known when its turn has come. */
const orderOf = (run: SyncRun, { list, read }: Picked) => {
  const { stream, scope } = list.candidate;
  const { forms, options, work } = run;
  return {
    ...{ runId: run.runId, stream, scope, walkId: liveOf(list.state).walkId },
    ...buildNextRequest(list.state, read, forms.of(list), options, work.embeddable),
    ...{ ...forms.attempts(stream), ...run.unusable.attempts(list.candidate, hasGoneOn(list.state, run.startedAt)) },
  };
};

/** Sends a request and applies its outcome. */
const ask = async (run: SyncRun, traffic: Traffic, picked: Picked, onLeaving: () => void): Promise<void> => {
  let ordered: ReturnType<typeof orderOf> | null = null;
  const purpose = run.budgets.limits ? purposeOf(picked.list) : null;
  if (purpose !== null) run.budgets.launch(purpose);
  const order = () => {
    ordered = orderOf(run, picked);
    return ordered;
  };
  // The next request may leave before this one's outcome is applied.
  const { result, requests } = await run.fetcher.fetch({ order, onLeaving }).finally(() => {
    traffic.flying -= 1;
    traffic.wake();
  });
  if (purpose !== null) run.budgets.settle(purpose, creditsOf(requests));
  run.stats.countRequests(requests);
  if (result.kind === "answer") traffic.answerBytes += (result.outcome.bytes - traffic.answerBytes) / 4;
  traffic.penniless = result.kind === "no-credit";
  // Nothing in progress could refund a credit or lead to another request.
  if (result.kind === "no-credit" && traffic.open === 1) run.ending.stop(result.error);
  await take(run, { ...picked, wanted: ordered ?? order(), requests }, result);
};

const send = async (run: SyncRun, traffic: Traffic, picked: Picked, onLeaving: () => void): Promise<void> => {
  traffic.flying += 1;
  traffic.open += 1;
  try {
    await ask(run, traffic, picked, onLeaving);
  } catch (error) {
    run.ending.fail(error);
  }
  traffic.open -= 1;
  traffic.wake();
  onLeaving();
};

/** Sends a request; resolves when it is sent or will not be. */
const launch = (run: SyncRun, traffic: Traffic, picked: Picked): Promise<void> =>
  new Promise((resolve) => void send(run, traffic, picked, resolve));

/** With nothing in progress: decides on rows that company lists lost, then checks whether more work became due. */
const findWork = async (run: SyncRun, backlog: Backlog): Promise<boolean> => {
  await deleteAbsentCompanies(run, run.suspected.absentCompanies.take());
  // A company whose list answers 404 is asked for itself first: if it is gone, it is one company, not its rows.
  if (
    run.suspected.shrunkLists.items.some(({ candidate }) => run.suspected.isSuspect(candidate.scope)) &&
    (await backlog.replan())
  )
    return true;
  const losing = run.suspected.shrunkLists.take();
  for (const name of new Set(losing.map((list) => list.stream.name))) {
    const lists = losing.filter((list) => list.stream.name === name);
    await deleteMissingRows(run, streamSpec(name), lists);
  }
  await run.reader.resumeSearches();
  if ((await backlog.replan()) || !backlog.isEmpty()) return true;
  const stuck = [...run.work.open.values()].find((list) => !hasReady(list));
  if (stuck !== undefined) throw new TypeError(`${stuck.key} waits for nothing`);
  return run.work.open.size > 0;
};

/** Leaves lists to a later run whose budget is spent, or whose stream is shut, once nothing of them is in progress. */
const leaveForbidden = (run: Run<"budgets" | "ends" | "unusable" | "work">): void => {
  for (const list of run.work.open.values()) {
    const isShut = run.unusable.isShut(list.candidate);
    if (!isShut && (!run.budgets.limits || run.budgets.room(purposeOf(list)) !== "spent")) continue;
    const waits = hasReady(list) && underWayOf(list.state) === 0 && requestsOf(list.state).uncommitted === 0;
    if (!waits || list.deciding) continue;
    if (!isShut) run.budgets.leaveOut(purposeOf(list));
    run.ends.postpone(list);
  }
};

/** Sends requests until none is left or the run ends. */
const loop = async (run: SyncRun, traffic: Traffic, backlog: Backlog): Promise<void> => {
  const { signal } = run.deps;
  while (!signal.aborted) {
    if (run.work.isPlanDue) await backlog.replan();
    leaveForbidden(run);
    await backlog.promote(run.options.concurrency + MOST_UNCOMMITTED);
    const waits = traffic.penniless && traffic.open > 0;
    traffic.penniless = false;
    const picked = !waits && hasRoom(run, traffic) ? pick(run) : null;
    run.committer.setPaced(picked !== null);
    if (picked !== null) await launch(run, traffic, picked);
    else if (traffic.open > 0) await changed(traffic);
    else if (!(await findWork(run, backlog))) return;
  }
};

/** Runs the plan. Never rejects: `run.ending` holds the reason of an early end, faults included. */
export const dispatch = async (run: SyncRun, planner: Planner, initial: Plan): Promise<void> => {
  const traffic: Traffic = { flying: 0, open: 0, answerBytes: 0, penniless: false, wake: () => undefined };
  const backlog = createBacklog(run, planner, initial);
  run.deps.signal.addEventListener("abort", () => traffic.wake(), { once: true });
  await loop(run, traffic, backlog).catch((error: unknown) => run.ending.fail(error));
  run.committer.setPaced(false);
  while (traffic.open > 0) await changed(traffic);
  backlog.leave();
  for (const list of [...run.work.open.values()]) run.ends.postpone(list);
};
