// Learns from the response for a page which page size the service grants to a list, which optional fields it returns, and whether a
// request must name them. The run stores this form in `sync.capabilities`, so that later runs need not try again.
import { isDeepStrictEqual } from "node:util";
import type { ApiCall, OkOutcome } from "../../api/outcome.ts";
import { startOf } from "../list/coverage/page-geometry.ts";
import type { ReadRequest } from "../list/coverage/read-types.ts";
import type { ListForm } from "../list/form.ts";
import { progressOf } from "../list/state.ts";
import { coverageOf, type Progress, readSoFar } from "../list/ways/progress.ts";
import { listForm } from "../request/calls.ts";
import { afterAnswerTo } from "../request/smaller-pages.ts";
import { choiceAfter, grantsAfter } from "../rows/granted-fields.ts";
import type { OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";

// The page size that a service grants, and which page proves it: a service may return fewer rows than a request asks for
// (docs/decisions/paging.md). Pure.

/** What a page shows of its size. */
interface ReturnedPage {
  readonly request: ReadRequest;
  readonly rows: number;
  /** `totalCount` and `perPage` of its `meta`. */
  readonly total: number | null;
  readonly saysPerPage: number | null;
  /** Rows of the largest page of the stream that the service has returned in this run. */
  readonly granted: number;
}

/** Rows that the strategy now asks for in a page: fewer than at first if the first page was short. */
export const pageSizeOf = (progress: Progress): number =>
  progress.kind === "log" ? progress.size : (coverageOf(progress)?.size ?? 0);

/**
 * True when the service answered a request for a later page of fewer rows than `largest`, which it has returned, with more rows,
 * or with too few and another size than asked: it takes pages of some sizes only, and the rows are those of another page.
 */
export const isOtherPage = ({ request, rows, total, saysPerPage, granted }: ReturnedPage, largest: number): boolean => {
  const isSmaller = request.page > 1 && request.perPage < largest && granted >= largest;
  const isShort = rows > 0 && rows < request.perPage && total !== null && startOf(request) + rows < total;
  return isSmaller && (rows > request.perPage || (isShort && saysPerPage !== request.perPage));
};

/**
 * Page size that the service grants to every list of the stream, null if this page proves none. A first page with fewer rows
 * than the service counts proves nothing alone: a service may count records that it never returns, and only rows behind
 * the page, or the service's own word, show that it was cut. `before`: how far the list was read before the page.
 */
export const provenPageSize = (before: Progress, page: ReturnedPage): number | null => {
  const { request, rows, total, granted } = page;
  if (rows === 0) return null;
  if (startOf(request) > 0) {
    const isBehind = startOf(request) + rows > readSoFar(before).end;
    return isBehind ? Math.max(pageSizeOf(before), granted) : null;
  }
  const isCut = rows < request.perPage && total !== null && total > rows;
  return isCut && page.saysPerPage === rows ? Math.max(rows, granted) : null;
};

/** The list was returned in this form: the stream's from now on, unless others are returned in another one. */
const keepForm = async (run: Run<"forms">, list: OpenList, form: ListForm): Promise<void> => {
  if (run.forms.returned(list, form) === "stream") await run.forms.store(list.stream.name, form);
};

/**
 * A page was returned in the present shape. Its rows show the fields that the list returns, and may prove a silently
 * reduced page size. Returns true if the page must be asked for again: the default response lacks fields that the list may
 * return by name, or the service took another page size than the request's.
 */
export const learnFromPage = async (
  run: Run<"forms">,
  list: OpenList,
  request: ReadRequest,
  { query }: Pick<ApiCall, "query">,
  outcome: OkOutcome,
): Promise<boolean> => {
  const { name } = list.stream;
  const asked = run.forms.of(list);
  // It was sent in an earlier form, so it says nothing of the present one.
  if (request.page === 1 && request.perPage < asked.perPage) return false;
  const shape = asked.failed === null ? asked : afterAnswerTo(asked, asked.failed, request.perPage);
  const records = Array.isArray(outcome.data) ? outcome.data : [];
  const { totalCount: total, perPage: saysPerPage } = outcome.page;
  const page = { request, rows: records.length, total, saysPerPage, granted: run.forms.largestPage(name) };
  // Beside the size of this list, which may be smaller: else a page in that size would be asked for again for ever.
  const progress = progressOf(list.state);
  if (progress !== null && isOtherPage(page, pageSizeOf(progress))) {
    if (!shape.fixed) await keepForm(run, list, { ...shape, fixed: true });
    return true;
  }
  const proven = progress === null ? null : provenPageSize(progress, page);
  const perPage = Math.min(shape.perPage, proven ?? shape.perPage);
  const learned = grantsAfter(shape, list.stream, query, { records, included: outcome.included });
  const { choice, again } = choiceAfter(shape, list.stream, {
    wanted: listForm(list.stream, shape, run.options).onDemand,
    named: query.onlyWithFields !== undefined,
    records,
    lacks: learned.lacks,
    perPage,
  });
  // Until the form is known, the list's other requests wait.
  const next = { ...shape, ...choice, ...learned, perPage, settled: shape.settled || !again };
  const tried = run.forms.hasOwn(list);
  if (tried || !isDeepStrictEqual(next, asked)) await keepForm(run, list, next);
  else run.forms.returned(list, next);
  return again;
};

/** A single record was returned in a form that an earlier refusal led to, so later runs ask for that at once. */
export const learnFromRecord = async (run: Run<"forms">, list: OpenList): Promise<void> => {
  const { name, list: route } = list.stream;
  const [form, shape] = [run.forms.of(list), run.forms.ofStream(name)];
  const tried = run.forms.hasOwn(list);
  if (run.forms.returned(list, form) === "own") return;
  if (route === undefined && !shape.settled) return run.forms.store(name, { ...form, settled: true });
  // What a record is asked for with; its list has page size and order of its own.
  const { include, without, content, contentForbidden } = form;
  if (tried) run.forms.use(name, { ...shape, include, without, content, contentForbidden });
};
