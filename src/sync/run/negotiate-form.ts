// Negotiates the form of a list (page size, order, filters, embedded records) after the service refused a request (400, or heavy fields
// that are not granted): chooses the next form for the same rows, or fails the list if none is left. list/form.ts has the order of forms.
import { causeOf } from "../../api/outcome.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import type { ReadRequest } from "../list/coverage/read-types.ts";
import {
  embedsOf,
  formAfterRefusal,
  initialForm,
  type ListForm,
  type RefusedRequest,
  withFixedPages,
} from "../list/form.ts";
import { isActive, type ListState, liveOf, progressOf, underWayOf } from "../list/state.ts";
import { namesLightFields, namesUnknownFields } from "../request/calls.ts";
import type { FetchResult } from "../request/fetcher.ts";
import { SIZE_FAILURE_CODES, type SizeFailure, sizeBelow, withSmallerPages } from "../request/smaller-pages.ts";
import { continueAfterRefusal } from "./after-refused-page.ts";
import { pageSizeOf } from "./learn-form.ts";
import { describeRequest, type SentRequest } from "./next-request.ts";
import { isOneOfMany } from "./state/forms.ts";
import type { OpenList } from "./state/open-list.ts";
import type { Run } from "./state/run-state.ts";

/** Parts of a run that a refusal changes. */
type NegotiatingRun = Run<"ends" | "forms" | "reader" | "unusable" | "work">;

// After a page failed for good: the same rows in smaller pages. At once while no page of the list was ever answered in
// this size. Where one was, only if the list failed in the last sync, too: an outage must not make pages small.

const hasFailedBefore = ({ state }: OpenList): boolean => SIZE_FAILURE_CODES.has(liveOf(state).before?.error ?? "");

/** Asks for smaller pages. False: their size is not the reason, or every size has failed. */
export const requestSmallerPages = async (
  run: NegotiatingRun,
  list: OpenList,
  request: ReadRequest,
  failure: SizeFailure,
): Promise<boolean> => {
  const { name, scope } = list.stream;
  const shape = run.forms.ofStream(name);
  const before = run.forms.beforeSmaller(name);
  if (!isActive(list.state) || before === null) return false;
  // One company of many may have such a body for ever, and each try is paid; others are returned in the size of their stream.
  if (scope === "company" && (failure === "paid" || shape.settled)) return false;
  const size = sizeBelow(request.perPage, failure);
  if (before !== undefined && request.perPage > shape.perPage) {
    // Another page of this size has failed already, or was sent before that was known.
    await run.reader.goOn(list);
    return true;
  }
  if (shape.settled && (before !== undefined || !hasFailedBefore(list))) return false;
  if (size === null) {
    const first = before ?? shape;
    run.forms.noteSmaller(name, null);
    list.transition({ kind: "pages-of", size: first.perPage, exactly: true });
    await applyForm(run, list, first);
    return false;
  }
  run.forms.noteSmaller(name, before ?? shape);
  const text = `${name}: pages of ${request.perPage} rows fail, pages of ${size} are asked for`;
  run.deps.emit({ kind: "note", level: "info", text });
  await applyForm(run, list, withSmallerPages(shape, size, run.deps.clock.now()));
  return true;
};

// A refusal of a reading of changes, which sends an order or a filter that a walk does not send: is it at fault? Pure.

interface ChangeReading {
  /** The list is read newest change first. */
  readonly ordered: boolean;
  /** Parameter of the filter by change date, if the list is read with it. */
  readonly filter: string | null;
  /** The list's shape at the first refusal; null: none, or the list was not returned before. */
  readonly accepted: ListForm | null;
}

/**
 * The shape without what only this reading sends; null: something else may be at fault. The response names it, or the list
 * was returned in `accepted` before and refuses a smaller page as well, so the size is not at fault. A fault that the
 * response does not name may pass: `settled` remains true, so the run does not store it.
 */
export const withoutChangeParameters = (
  shape: ListForm,
  refused: RefusedRequest,
  excerpt: string,
  { ordered, filter, accepted }: ChangeReading,
): ListForm | null => {
  const before = accepted?.settled === true && refused.perPage < accepted.perPage ? accepted : null;
  if (ordered && refused.sort) {
    if (/sort|order/i.test(excerpt)) return { ...shape, changeOrder: false, settled: false };
    // A list that was walked without an order refuses this one, whatever it says.
    if (!shape.sort) return { ...shape, changeOrder: false };
    return before === null ? null : { ...before, changeOrder: false };
  }
  if (filter === null) return null;
  const isNamed = excerpt.toLowerCase().includes(filter.toLowerCase()) || /filter|\bdate/i.test(excerpt);
  if (isNamed) return { ...shape, changeFilter: false, settled: false };
  return before === null ? null : { ...before, changeFilter: false };
};

/**
 * Refusals of a list's later pages after which no other form is tried. The service accepted the form for the first page, so it
 * probably returns no page behind some row.
 */
const MOST_LATER_REFUSALS = 1;

/** What the refused request may send that only a reading of changes sends. */
const readingOf = ({ stream, state }: OpenList): ChangeReading => {
  const progress = progressOf(state);
  const filtered = progress?.kind === "filter" && !progress.only && !progress.counting ? stream.filter : undefined;
  return { ordered: progress?.kind === "watermark", filter: filtered?.param ?? null, accepted: acceptedForm(state) };
};

/** The form in which the list was returned before its first refusal; null: it was not refused, or not returned. */
const acceptedForm = (state: ListState): ListForm | null => {
  const list = liveOf(state);
  return isActive(list) ? list.negotiation.accepted : null;
};

const laterRefusals = (state: ListState): number => {
  const list = liveOf(state);
  return isActive(list) ? list.negotiation.later : 0;
};

type Refusal = Extract<FetchResult, { kind: "adjust" }>["outcome"];

/** A refusal of the heavy fields that the request names: they are not in the organization's plan. */
const forbidsContent = ({ status }: Refusal): boolean => status === 402 || status === 403;

/** A refused request, with what it embeds. */
type Refused = RefusedRequest & { readonly included: readonly string[] };

/** True when the request was sent before the form of its list became another one. */
const isOutdated = ({ stream, state }: OpenList, shape: ListForm, refused: Refused): boolean => {
  const progress = progressOf(state);
  const sorts = progress?.kind === "watermark" ? shape.changeOrder : shape.sort;
  const embeds = embedsOf(stream, shape).map((embed) => embed.include);
  return (
    refused.perPage > shape.perPage ||
    (shape.fixed && progress !== null && refused.perPage > 0 && refused.perPage < pageSizeOf(progress)) ||
    (refused.sort && !sorts) ||
    (refused.unknown === true && shape.unknown === null) ||
    refused.included.some((include) => !embeds.includes(include))
  );
};

/** The form to try after a refusal; null: none is left. */
const nextShape = (run: Run<"forms">, list: OpenList, refused: Refused, outcome: Refusal): ListForm | null => {
  const shape = run.forms.of(list);
  if (forbidsContent(outcome)) return { ...shape, content: false, contentForbidden: true };
  const { excerpt } = outcome;
  if (isOutdated(list, shape, refused)) return shape;
  list.transition({ kind: "refused-form", shape, remembers: false, later: refused.later === true });
  // The first page of another way may be refused for its order or filter.
  if (refused.later === true && laterRefusals(list.state) > MOST_LATER_REFUSALS) return null;
  const elsewhere = run.forms.ofLists().map((other) => other.perPage);
  return (
    withFixedPages(shape, refused, excerpt) ??
    withoutChangeParameters(shape, refused, excerpt, readingOf(list)) ??
    formAfterRefusal(shape, refused, excerpt, {
      largest: run.options.largestPage,
      elsewhere: elsewhere.length === 0 ? null : Math.max(...elsewhere),
    })
  );
};

/** Gives all lists of the stream this form, and lets those go on that can. */
export const applyForm = async (
  run: NegotiatingRun,
  { stream }: Pick<OpenList, "stream">,
  shape: ListForm,
): Promise<void> => {
  run.forms.use(stream.name, shape);
  for (const other of run.work.listsOf(stream.name)) {
    other.transition({ kind: "form", shape });
    await run.reader.goOn(other);
  }
};

/**
 * True for one list or record of many that is refused although others may be returned: it tries other forms by itself. As long
 * as no list of a stream was returned, one list at a time finds out the form for all.
 */
const triesForItself = (run: Run<"forms">, list: OpenList, { later }: { readonly later: boolean }): boolean =>
  !later && isOneOfMany(list) && (progressOf(list.state) === null || run.forms.ofStream(list.stream.name).settled);

/** Gives the other lists of the stream, of which no page is on its way, the stream's form. None is sent in another one meanwhile. */
export const shareForm = async (run: NegotiatingRun, list: OpenList): Promise<void> => {
  const { name } = list.stream;
  const isIdle = (other: OpenList) => other !== list && underWayOf(other.state) === 0;
  const others = run.work.listsOf(name).filter(isIdle);
  for (const other of others) other.transition({ kind: "form", shape: run.forms.ofStream(name) });
  await Promise.all(others.map((other) => run.reader.goOn(other)));
};

/**
 * Fails a list that was refused in every form. What was given up was not at fault: the next sync begins with the form of
 * before, and the other lists of the stream go on in theirs.
 */
const failInEveryForm = async (run: NegotiatingRun, list: OpenList, error: DuckmirrorError, later: boolean) => {
  const before = acceptedForm(list.state) ?? initialForm(run.options.largestPage);
  const isOwn = triesForItself(run, list, { later });
  if (!later && isOneOfMany(list)) run.unusable.failed(list.candidate, { goneOn: false, deep: false, free: true });
  if (!later) run.forms.giveUp(list);
  if (later) list.transition({ kind: "pages-of", size: before.perPage, exactly: true });
  else list.transition({ kind: "form", shape: isOwn ? run.forms.ofStream(list.stream.name) : before });
  if (!isOwn) run.forms.use(list.stream.name, before);
  const sharing = isOwn ? undefined : shareForm(run, list);
  await run.ends.fail(list, error, { resumable: true });
  await sharing;
};

/** What the refused request sent that the service may not take. */
const refusedRequest = (run: Run<"forms">, { list, read, wanted: { call } }: SentRequest) => {
  const { query } = call;
  return {
    perPage: read?.perPage ?? 0,
    sort: query.sortBy !== undefined,
    include: query.include !== undefined,
    included: query.include?.split(",") ?? [],
    content: query.onlyWithFields !== undefined || query.groupBy !== undefined || query.window !== undefined,
    names: namesLightFields(list.stream, query),
    unknown: namesUnknownFields(list.stream, query),
    filters: run.forms.isFiltered(list.stream.name),
    later: read !== null && read.page > 1 && run.forms.ofStream(list.stream.name).settled,
  } satisfies RefusedRequest;
};

/** False for one of many whose refusal is its own: others were refused in every form, or an earlier sync was refused here, too. */
const mayTryForms = (
  run: Run<"forms" | "unusable">,
  list: OpenList,
  { later }: { readonly later: boolean },
): boolean => {
  if (!isOneOfMany(list) || later) return true;
  const isKnown = run.forms.ofStream(list.stream.name).settled && run.unusable.has(list.candidate);
  return !isKnown && run.forms.mayTry(list);
};

/** After a refusal: tries the next list shape, or abandons the scope. */
export const negotiateForm = async (run: NegotiatingRun, sent: SentRequest, outcome: Refusal): Promise<void> => {
  const { list, read } = sent;
  const { name } = list.stream;
  const refused = refusedRequest(run, sent);
  if (read !== null) list.transition({ kind: "lost", read });
  const shape = run.forms.of(list);
  const remembers = read !== null && (read.page > 1 || shape.settled);
  list.transition({ kind: "refused-form", shape, remembers, later: false });
  const found = nextShape(run, list, refused, outcome);
  const next = found === shape || mayTryForms(run, list, refused) ? found : null;
  if (next === null) {
    const context = { endpoint: describeRequest(sent), detail: causeOf(outcome) };
    const error = new DuckmirrorError("REQUEST_FAILED", context);
    if (read !== null && (await continueAfterRefusal(run, list, read, error))) return;
    return failInEveryForm(run, list, error, refused.later);
  }
  if (forbidsContent(outcome) && shape.content) {
    const text = `${name}: asked for again without the fields that the setting content names, they were refused (${outcome.status})`;
    run.deps.emit({ kind: "note", level: "warn", text });
  }
  if (read === null) list.transition({ kind: "unsent", read });
  if (!triesForItself(run, list, refused)) return applyForm(run, list, next);
  if (next !== shape) run.forms.try(list, next);
  list.transition({ kind: "form", shape: next });
  await run.reader.goOn(list);
};
