// Builds the next request of a list or record from its state, and the detail that the archive stores with it, so that its response can
// be loaded later. Pure; it sends nothing.
import type { ApiCall } from "../../api/outcome.ts";
import type { RequestRecord, Work } from "../../warehouse/record/checkpoint.ts";
import type { ReadRequest } from "../list/coverage/read-types.ts";
import { embedsOf, type ListForm } from "../list/form.ts";
import { type ListState, type Live, liveOf, orderOf, progressOf, workOf } from "../list/state.ts";
import type { Purpose } from "../plan/budgets.ts";
import { breakdownOf, LIMITS_SCOPE, type UsageChoice } from "../plan/usage-scopes.ts";
import type { ArchivedDetail } from "../request/calls.ts";
import {
  type CallOptions,
  companyCall,
  countsCall,
  detailCall,
  insightCall,
  limitsCall,
  listCall,
  listForm,
  usageCall,
} from "../request/calls.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "../rows/loads.ts";
import type { OpenList } from "./state/open-list.ts";

export interface NextRequest {
  readonly call: ApiCall;
  readonly work: Work;
  readonly detail: ArchivedDetail;
}

/** The configuration that shapes requests. */
type WantedOptions = CallOptions & UsageChoice;

const singleCall = (
  { order, stream }: Live,
  shape: ListForm,
  options: WantedOptions,
  embeddable: ReadonlySet<string>,
): ApiCall => {
  const { scope, mode } = order;
  if (mode === "detail") return detailCall(stream, scope.slice(DETAIL_SCOPE.length), options);
  if (mode === "resolve") {
    return companyCall({ kind: "input", value: scope.slice(INPUT_SCOPE.length) }, shape, stream, options);
  }
  switch (stream.strategy) {
    case "capture":
      return countsCall();
    case "log":
      return scope === LIMITS_SCOPE ? limitsCall(options) : usageCall(shape, breakdownOf(scope, options), options);
    case "on-change": {
      if (stream.scope === "company") return companyCall({ kind: "id", value: scope }, shape, stream, options);
      const along = embedsOf(stream, shape).filter(({ table }) => embeddable.has(table));
      return insightCall(scope, options, along);
    }
    default:
      throw new TypeError(`${stream.name} is read by pages`);
  }
};

/** The kind of work that the list does now. A look may become a walk, and a walk that does not add up a look. */
export const workOfList = (state: ListState): Work => workOf(progressOf(state)?.kind ?? liveOf(state).order.mode);

/** Stream and kind of work of the list's next credit. */
export const purposeOf = ({ stream, state }: Pick<OpenList, "stream" | "state">): Purpose => ({
  stream: stream.name,
  work: workOfList(state),
});

/** The request for a page of a list; `read` is null where one request suffices. `embeddable`: lists whose records may come along. */
export const buildNextRequest = (
  state: ListState,
  read: ReadRequest | null,
  shape: ListForm,
  options: WantedOptions,
  embeddable: ReadonlySet<string>,
): NextRequest => {
  const { stream, order } = liveOf(state);
  const progress = progressOf(state);
  const call =
    read === null
      ? singleCall(liveOf(state), shape, options, embeddable)
      : listCall(stream, order.scope, read, orderOf(state), shape, options);
  const overlap = progress?.kind === "walk" ? progress.coverage.overlap : null;
  const granted = call.query.onlyWithFields === undefined ? shape.inDefault : shape.grants;
  const { along } = listForm(stream, shape, options);
  const detail = { read, overlap, granted: read === null ? [] : granted, along, work: workOfList(state) };
  return { call, work: detail.work, detail };
};

/** A request that was sent for a list, with the rows of the ledger that are committed with its answer. */
export interface SentRequest {
  readonly list: OpenList;
  /** null: the single request of a record. */
  readonly read: ReadRequest | null;
  readonly wanted: NextRequest;
  readonly requests: readonly RequestRecord[];
}

/** The request as text for messages, in the form of verdicts (api/retry-policy.ts). */
export const describeRequest = ({ list, read, wanted }: SentRequest): string =>
  `${list.stream.name} (GET ${wanted.call.path}${read === null ? "" : `, page ${read.page}`})`;
