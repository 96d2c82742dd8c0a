// Finds deleted rows by their account. If the service counts fewer rows of a list than the mirror holds, the run requests by id the accounts
// that rows name and the mirror does not hold (a 404 is free). All rows of a deleted account move to history, after some of them returned 404,
// too, and a row of an existing account returned 200. docs/decisions/gone-rows.md.

import type { ScopedTable } from "../../../catalog/tables.ts";
import { counted } from "../../../core/text/units.ts";
import { liveOf } from "../../list/state.ts";
import { stateKey } from "../../plan/candidate.ts";
import type { OpenList } from "../state/open-list.ts";
import type { Run } from "../state/run-state.ts";
import { guardDeletes } from "./delete-missing-rows.ts";
import { surplusOf } from "./delete-suspects.ts";
import {
  CONTROL_ROWS,
  type ExtraRequestParts,
  fetchById,
  fetchRowsById,
  hasDetailRoute,
  moveToHistory,
} from "./extra-requests.ts";

/** Accounts that are asked for in one run, those with the most rows first. */
const MOST_ACCOUNTS = 50;
/** Rows of such an account that are asked for by their id, free of charge if they are gone; of more rows, some from everywhere. */
const MOST_PROBES = 25;

/** True while the list of accounts is read, so which ones are gone is not known yet. */
export const waitsForAccounts = (run: Run<"work">, list: OpenList): boolean =>
  list.stream.name !== "accounts" && run.work.open.has(stateKey("accounts", "")) && surplusOf(list) > 0;

const spread = (ids: readonly string[]): readonly string[] => {
  const step = Math.max(1, ids.length / MOST_PROBES);
  return ids.filter((_, nth) => Math.floor(nth / step) !== Math.floor((nth - 1) / step));
};

/** Whether a 404 of a row means something: the service knows a row by id whose account is mirrored. */
const knowsRows = async (run: Run<ExtraRequestParts>, list: OpenList, table: ScopedTable): Promise<boolean> => {
  const there = await run.deps.warehouse.rowsByAccount({ table, mirrored: true, limit: CONTROL_ROWS });
  const ids = there.flatMap(({ ids: [first = []] }) => first);
  return (await fetchRowsById(run, list, ids, { isEnough: ({ alive, moved }) => alive + moved > 0 })).alive > 0;
};

/** True when the service knows none of these rows. */
const areGone = async (run: Run<ExtraRequestParts>, list: OpenList, ids: readonly string[]): Promise<boolean> =>
  (await fetchRowsById(run, list, ids, { isEnough: ({ alive, moved }) => alive + moved > 0 })).gone.length ===
  ids.length;

/** Deletes the rows of accounts that the service does not know any more, as far as its count allows. Returns whether the counts agree now. */
export const deleteByAccount = async (
  run: Run<ExtraRequestParts | "forms" | "work">,
  list: OpenList,
): Promise<boolean> => {
  const { name } = list.stream;
  const { warehouse, emit } = run.deps;
  const gone = surplusOf(list);
  // With a scope, or without their stream, accounts are missing that exist.
  const areComplete = run.options.configured.includes("accounts") && !run.forms.isFiltered("accounts");
  if (gone <= 0 || !hasDetailRoute(name) || name === "accounts" || run.forms.isFiltered(name) || !areComplete)
    return false;
  if (guardDeletes(list.stream, { rows: liveOf(list.state).rows, missing: gone }, run.options) !== null) return false;
  let left = gone;
  let isTrusted = false;
  for (const { account, ids } of await warehouse.rowsByAccount({
    table: name,
    mirrored: false,
    limit: MOST_ACCOUNTS,
  })) {
    // More rows than are gone: some of them are there.
    if (ids.length > left) continue;
    if ((await fetchById(run, list, "accounts", account)) !== "absent") return false;
    if (!(await areGone(run, list, spread(ids)))) return false;
    isTrusted ||= await knowsRows(run, list, name);
    if (!isTrusted) return false;
    await moveToHistory(run, list, ids);
    left -= ids.length;
  }
  if (left < gone)
    emit({ kind: "note", level: "info", text: `${name}: ${counted(gone - left, "row")} of accounts that are gone` });
  return left === 0;
};
