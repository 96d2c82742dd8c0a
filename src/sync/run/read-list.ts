// Carries out the effects of a list's state machine (list/next.ts): counts its rows in the mirror, deletes, closes gaps, ends the list,
// stores what it learned. It decides nothing itself and requests no page.
import type { ScopedTable } from "../../catalog/tables.ts";
import { mustWait } from "../list/decide.ts";
import type { Effect, Facts } from "../list/events.ts";
import type { ListForm } from "../list/form.ts";
import { type Active, hasGoneOn, isActive, liveOf, readingOf } from "../list/state.ts";
import { coverageOf } from "../list/ways/progress.ts";
import { countChangedContacts } from "../plan/mirror-view.ts";
import { closeGap, endClosing } from "./reconcile/close-gap.ts";
import { deleteByAccount, waitsForAccounts } from "./reconcile/delete-by-account.ts";
import { deleteByCounting } from "./reconcile/delete-by-counting.ts";
import { deleteMissingRows } from "./reconcile/delete-missing-rows.ts";
import { deleteAfterChanges } from "./reconcile/delete-suspects.ts";
import { endedAtWindow, rememberWindow } from "./reconcile/end-at-window.ts";
import type { ExtraRequestParts } from "./reconcile/extra-requests.ts";
import { readDeepList } from "./reconcile/read-deep-list.ts";
import { beginningOf } from "./state/forms.ts";
import type { Deciding, ListReader, OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";

/** Parts of a run that the steps of a list change. */
type Reading = Run<ExtraRequestParts | "ending" | "ends" | "forms" | "suspected" | "unusable" | "work">;

/** Distinct ids of the reading. */
const seenBy = async (run: Run, list: Active): Promise<number> => {
  const { pages, onlyPage, firstMirror } = list.reading;
  if (pages <= 1) return onlyPage.size;
  return firstMirror ? list.rows : run.deps.warehouse.seenCount(list.walkId);
};

/** In a filtered list only the rows inside the scope count; a complete walk shows which these are. */
const countScope = async ({ deps }: Run, list: Active, name: ScopedTable, complete: boolean): Promise<number> => {
  const isShown = complete && list.reading.progress.kind === "walk";
  if (isShown) await deps.warehouse.mark({ of: "walk", table: name, inside: true, walkId: list.walkId });
  return deps.warehouse.countRows(name);
};

/**
 * True when the next page is asked for alone. After one that could not be used, those behind it would be paid for again each time;
 * after one that failed, the changes are read once nothing else is under way.
 */
const asksAlone = (run: Run<"unusable">, list: Active): boolean =>
  (run.unusable.has(list.order) || (list.before?.error ?? null) !== null) && !hasGoneOn(list, run.startedAt);

/** What the next step of the list needs to know. */
const factsOf = async (run: Run<"forms" | "unusable">, list: Active): Promise<Facts> => {
  const { name } = list.stream;
  const { progress } = list.reading;
  const complete = coverageOf(progress)?.complete === true;
  const counts = complete && !mustWait(list);
  const isInScope = run.forms.isFiltered(name) && list.requests.uncommitted === 0;
  const rows = isInScope ? await countScope(run, list, name, complete) : null;
  const changes = counts && progress.kind === "filter" && !progress.only ? progress : null;
  return {
    ...beginningOf(run, list),
    room: asksAlone(run, list) ? 1 : run.options.concurrency,
    rows,
    seen: counts ? await seenBy(run, list) : 0,
    matching: changes === null ? null : await countChangedContacts(run.deps.warehouse.database, changes.since),
  };
};

/** Content with which every row of a list was read. A read that is no walk adds none, and leaves rows that lack what it did not ask for. */
export const contentOfAll = (
  { grants, walkedWith }: Pick<ListForm, "grants" | "walkedWith">,
  asked: readonly string[],
  isWalk: boolean,
): readonly string[] => (isWalk ? grants : walkedWith).filter((field) => asked.includes(field));

const noteContent = async (run: Run<"forms">, list: OpenList, whole: boolean): Promise<void> => {
  const reading = readingOf(list.state);
  if (list.stream.scope !== "organization" || reading === null) return;
  const shape = run.forms.ofStream(list.stream.name);
  const walkedWith = contentOfAll(shape, reading.content, whole && reading.progress.kind === "walk");
  if (String(walkedWith) !== String(shape.walkedWith))
    await run.forms.store(list.stream.name, { ...shape, walkedWith });
};

/** Finds what is gone after changes were read whose counts differ. */
const findGone = async (run: Reading, list: OpenList, because: string): Promise<void> => {
  if (waitsForAccounts(run, list)) return run.suspected.awaitingAccounts.add(list);
  if (await endedAtWindow(run, list, "varying")) return;
  const isSettled = (await deleteByAccount(run, list)) || (await deleteAfterChanges(run, list));
  const end = isSettled ? "agrees" : await deleteByCounting(run, list);
  if (end === "agrees") list.enqueue({ kind: "go-on" });
  else if (end === "walk" && !(await endedAtWindow(run, list, "steady")))
    list.enqueue({ kind: "walk", because, ...beginningOf(run, list) });
};

/** What a list that lost rows waits for: its own settlement, or that of all lists of its stream. */
const deleteRows = async (run: Reading, list: OpenList): Promise<void> => {
  if (list.stream.scope === "organization") await deleteMissingRows(run, list.stream, [list]);
  else run.suspected.shrunkLists.add(list);
};

type Ends = "delete" | "find-gone" | "close-gap" | "end-closing" | "end" | "close" | "fail" | "go-on";

/** Carries out what reports or stores, and leads to nothing. */
const keep = async (
  run: Run<"forms" | "suspected" | "stats">,
  list: OpenList,
  effect: Exclude<Effect, { kind: Ends }>,
): Promise<void> => {
  const { name } = list.stream;
  switch (effect.kind) {
    case "note":
      return run.deps.emit({ kind: "note", level: "info", text: effect.text });
    case "mode":
      return run.stats.addMode(name, effect.mode);
    case "remember":
      return run.forms.store(name, { ...run.forms.ofStream(name), ...effect.lack });
    case "content":
      return noteContent(run, list, effect.whole);
    case "compared":
      return run.suspected.countCompared(name, liveOf(list.state).rows);
    default:
      return effect satisfies never;
  }
};

/** Carries out what follows from an event. What it decides waits for its turn. */
const carryOut = async (run: Reading, list: OpenList, effect: Effect): Promise<void> => {
  switch (effect.kind) {
    case "find-gone":
      return findGone(run, list, effect.because);
    case "delete":
      return deleteRows(run, list);
    case "close-gap":
      if ((await closeGap(run, list)) === "goes on") {
        list.enqueue({ kind: "read-changes", shape: run.forms.ofStream(list.stream.name) });
      }
      return;
    case "end-closing":
      return endClosing(run, list, effect.agrees);
    case "end":
      await rememberWindow(run, list, "settled");
      return run.ends.finish(list, effect.verdict);
    case "close":
      return run.ends.close(list);
    case "fail":
      if (await readDeepList(run, list, effect.error)) return;
      return run.ends.fail(list, effect.error, { resumable: effect.resumable });
    case "go-on":
      return list.enqueue({ kind: "go-on" });
    default:
      return keep(run, list, effect);
  }
};

/** One event: its facts, counted of the state that it meets, its transition, its effects. */
const decide = async (run: Reading, list: OpenList, event: Deciding): Promise<void> => {
  if (event.kind !== "go-on") {
    for (const effect of list.transition(event)) await carryOut(run, list, effect);
    return;
  }
  const { state } = list;
  if (!isActive(state)) return;
  const facts = await factsOf(run, state);
  // A page arrived while the mirror counted: it counts again.
  if (list.state !== state) return list.enqueue(event, true);
  for (const effect of list.transition({ kind: "go-on", facts })) await carryOut(run, list, effect);
};

export const createReader = (run: Reading): ListReader => {
  const apply = async (list: OpenList, event: Deciding): Promise<void> => {
    list.enqueue(event);
    await list.drain((next) => decide(run, list, next));
    if (list.stream.name === "accounts" && !run.work.open.has(list.key)) await resumeSearches();
  };
  const goOn = (list: OpenList) => apply(list, { kind: "go-on" });
  const resumeSearches = async () => {
    for (const list of run.suspected.awaitingAccounts.take()) await goOn(list);
  };
  return { apply, goOn, resumeSearches };
};
