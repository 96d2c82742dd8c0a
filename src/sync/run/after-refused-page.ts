// Decides how a run reads a list on after the service refused its next page in every form. Changes that go deeper than the service
// returns lead to a walk. A walk reads up to the refused page and fails with LIST_TOO_DEEP. A resumed list may have become shorter than
// its cursor: the run reads its changes (or the list from its head, if it has no order by change date). If the list still has the page,
// it fails and keeps its cursor, so that its pages are not paid for again. docs/decisions/reading-changes.md.
import { DuckmirrorError } from "../../core/errors.ts";
import { isoTime } from "../../core/time.ts";
import { startOf } from "../list/coverage/page-geometry.ts";
import type { ReadRequest } from "../list/coverage/read-types.ts";
import { tooDeep } from "../list/decide.ts";
import { type Active, isActive, isExcerpt, type RefusedRow, underWayOf } from "../list/state.ts";
import { readSoFar } from "../list/ways/progress.ts";
import { beginningOf } from "./state/forms.ts";
import type { Deciding, OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";

/** `pages` of a resumed reading that has not received a page yet. */
const PAGES_AT_RESUME = 2;

/**
 * True when the cursor of an earlier run asks for the page, and this run has received no page yet. Of a list that is known to be
 * too deep, the service may return a few rows more, and its changes are read all the same.
 */
const isResumedPage = (list: Active, { page }: ReadRequest): boolean => {
  const { before, walkId, reading } = list;
  return (
    reading.progress.kind !== "log" &&
    !isExcerpt(list) &&
    before?.status === "walking" &&
    before.walkId === walkId &&
    (reading.pages === PAGES_AT_RESUME || before.error === "LIST_TOO_DEEP") &&
    page > 1
  );
};

/** True while changes are read that a walk shows as well. */
const readsChanges = (list: Active): boolean => {
  const { kind } = list.reading.progress;
  return list.kind !== "closing" && (kind === "watermark" || (kind === "filter" && !isExcerpt(list)));
};

/** The list goes on without the page. */
const leaving = (run: Run<"forms">, list: OpenList, at: RefusedRow): Deciding => ({
  ...{ kind: "left", at, ...beginningOf(run, list) },
});

/** True when the changes of a list whose reading cannot go on now can be read instead. */
const showsChanges = (run: Run<"forms">, { stream, reading: { progress } }: Active): boolean =>
  (progress.kind === "walk" || progress.kind === "watermark") &&
  stream.watermark !== undefined &&
  run.forms.ofStream(stream.name).changeOrder;

/** Reads the changes of a list whose walk waits for a page that cannot be used. */
export const readChangesInstead = (run: Run<"forms" | "unusable">, list: OpenList): void => {
  const { state } = list;
  const { name: stream } = list.stream;
  const waiting = run.unusable.waiting.find((other) => other.stream === stream);
  if (waiting === undefined || !isActive(state) || !showsChanges(run, state)) return;
  const context = { stream, count: waiting.places, until: isoTime(waiting.until) };
  const error = new DuckmirrorError("ANSWERS_UNUSABLE", context);
  list.enqueue(leaving(run, list, { row: readSoFar(state.reading.progress).end, error }));
};

/** Reads the changes of a resumed walk whose next page failed. False: they cannot be read. */
export const readChangesMeanwhile = async (
  run: Run<"fetcher" | "forms" | "reader">,
  list: OpenList,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  const { state } = list;
  const isOut = error.code === "SERVICE_UNREACHABLE" || run.fetcher.isFailing(list.stream.name);
  if (isOut || !isActive(state) || !isResumedPage(state, request) || !showsChanges(run, state)) return false;
  if (underWayOf(state) > 0) return false;
  await run.reader.apply(list, leaving(run, list, { row: startOf(request), error }));
  return true;
};

/** Reads on in another way after a page was refused. False: there is none. */
export const continueAfterRefusal = async (
  run: Run<"forms" | "reader">,
  list: OpenList,
  request: ReadRequest,
  error: DuckmirrorError,
): Promise<boolean> => {
  const { state } = list;
  if (request.page === 1 || !isActive(state)) return false;
  const { name } = list.stream;
  const shape = state.negotiation.accepted ?? run.forms.ofStream(name);
  const isResumed = isResumedPage(state, request);
  const changes = readsChanges(state);
  if (!isResumed && !changes && state.reading.progress.kind !== "walk") return false;
  // The forms that were tried in between say nothing about the list.
  run.forms.use(name, shape);
  const row = startOf(request);
  if (isResumed || changes) list.transition({ kind: "pages-of", size: shape.perPage, exactly: true });
  else list.transition({ kind: "page-refused", at: { row, error }, shape });
  // Another page may be answered; else the last refusal decides.
  if (underWayOf(list.state) > 0) return true;
  const because = `the service refuses the page of its changes at row ${row + 1}`;
  if (changes) await run.reader.apply(list, { kind: "walk", because, ...beginningOf(run, list) });
  else if (isResumed) await run.reader.apply(list, leaving(run, list, { row, error: tooDeep(error, state) }));
  else await run.reader.goOn(list);
  return true;
};
