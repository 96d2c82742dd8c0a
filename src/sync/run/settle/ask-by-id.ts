// Requests one record by its id. A 404 costs nothing and confirms that the record is gone; a 200 costs a credit,
// repairs the row and marks it as seen by the walk of the list.
import { type StreamName, streamSpec } from "../../../catalog/streams.ts";
import { isScopedTable, type ScopedTable } from "../../../catalog/tables.ts";
import type { DuckmirrorError } from "../../../core/errors.ts";
import { frozenMisfit } from "../../../warehouse/record/strict-rows.ts";
import { liveOf } from "../../list/state.ts";
import { detailCall } from "../../request/calls.ts";
import { creditsOf } from "../../request/ledger-rows.ts";
import { idOf, loadsOf } from "../../rows/loads.ts";
import type { OpenList } from "../state/open-list.ts";
import type { SyncRun } from "../state/run-state.ts";

/** A response by id belongs to no page. */
const BY_ID = { read: null, overlap: null };

/** True for a list of the organization whose records can be requested by id (API.md, detail routes of the workspace). */
export const isAskable = (name: StreamName): name is ScopedTable =>
  isScopedTable(name) && streamSpec(name).detail !== undefined;

export type ByIdAnswer =
  | "absent"
  | "alive"
  /** A record of another id, into which it was merged, or a lasting redirect to one. */
  | "another"
  /** This run could not find out; the error is set if its credits were the reason. */
  | { readonly noCredit: DuckmirrorError | null };

/** A redirect for good: a 302 or 307 may be a gateway's for the moment. */
const isMoved = ({ code, context }: DuckmirrorError): boolean =>
  code === "REDIRECTED" && [301, 308].includes(Number(context.status));

/** Sends one request within the run's credits and rate. */
export const askById = async (run: SyncRun, list: OpenList, name: ScopedTable, id: string): Promise<ByIdAnswer> => {
  const call = detailCall(streamSpec(name), id, run.options);
  const { walkId } = liveOf(list.state);
  const purpose = { stream: name, work: "walk" } as const;
  if (run.budgets.room(purpose) !== "some") {
    run.budgets.leaveOut(purpose);
    return { noCredit: null };
  }
  const order = { runId: run.runId, stream: name, scope: "", walkId, call, work: purpose.work, detail: BY_ID };
  run.budgets.launch(purpose);
  const { result, requests } = await run.fetcher.fetch({ order: () => order });
  run.budgets.settle(purpose, creditsOf(requests));
  run.stats.countRequests(requests);
  const loads =
    result.kind !== "answer"
      ? []
      : loadsOf({
          stream: name,
          scope: "",
          endpoint: call.endpoint,
          query: call.query,
          requestId: result.requestId,
          walkId,
          receivedAt: result.receivedAt,
          data: result.outcome.data,
          included: result.outcome.included,
          envelope: result.outcome.envelope,
          granted: [],
        });
  const fits = frozenMisfit(loads, run.deps.warehouse.strictness) === null;
  await run.committer.commit({ loads: fits ? loads : [], requests, states: [], bytes: 0 });
  if (result.kind === "answer") return (idOf(result.outcome.data) ?? id) === id ? "alive" : "another";
  if (result.kind === "absent") return "absent";
  if (result.kind === "failed" && isMoved(result.error)) return "another";
  return { noCredit: result.kind === "no-credit" ? result.error : null };
};
