// Reads the facts about the mirror that a verification is planned with.
import { COMPANY_LISTS, ORGANIZATION_LISTS, type StreamName } from "../../catalog/streams.ts";
import { tableSpec } from "../../catalog/tables.ts";
import { countByValue, sampleIds } from "../../warehouse/load/compare.ts";
import type { ScopeState } from "../../warehouse/record/checkpoint.ts";
import { stateKey } from "../plan/candidate.ts";
import { readScopeRows } from "../plan/mirror-view.ts";
import { DETAIL_SCOPE, INPUT_SCOPE } from "../rows/loads.ts";
import type { SyncDeps } from "../run/state/run-state.ts";
import type { VerifyFacts } from "./checks.ts";

const LISTS: ReadonlySet<StreamName> = new Set([...ORGANIZATION_LISTS, ...COMPANY_LISTS]);

const valuesOf = async (deps: SyncDeps, field: "type" | "changeType"): Promise<readonly string[]> => {
  const spec = tableSpec("contacts").fields.find(({ name }) => name === field);
  const mirrored = await countByValue(deps.warehouse.database, "contacts", spec?.column ?? "");
  return [...new Set([...(spec?.allowed ?? []).map(String), ...mirrored.keys()])].filter((value) => value !== null);
};

/** `sample`: number of records to draw per stream. */
export const readFacts = async (
  deps: SyncDeps,
  sample: number,
  states: readonly ScopeState[],
  pageSize: VerifyFacts["pageSize"],
): Promise<VerifyFacts> => {
  const { database } = deps.warehouse;
  const seed = Math.floor(deps.random() * 2 ** 32);
  const rows = await readScopeRows(database);
  const draw = (table: Parameters<typeof sampleIds>[1]) => sampleIds(database, table, seed, sample);
  return {
    lists: states.flatMap(({ stream, scope, walkedAt }) => {
      const whole = scope === "" || walkedAt !== null;
      const own = LISTS.has(stream) && !scope.startsWith(DETAIL_SCOPE) && !scope.startsWith(INPUT_SCOPE);
      return own && whole ? [{ stream, scope, rows: rows.get(stateKey(stream, scope)) ?? 0 }] : [];
    }),
    pageSize,
    accounts: await draw("accounts"),
    contacts: await draw("contacts"),
    signals: await draw("signals"),
    companies: await draw("companies"),
    insights: await draw("account_insights"),
    contactTypes: await valuesOf(deps, "type"),
    contactChangeTypes: await valuesOf(deps, "changeType"),
  };
};

/** Pages that a list has in the mirror. */
export const pagesIn = ({ lists, pageSize }: VerifyFacts, stream: StreamName, scope: string): number => {
  const rows = lists.find((list) => list.stream === stream && list.scope === scope)?.rows ?? 1;
  return LISTS.has(stream) ? Math.max(1, Math.ceil(rows / pageSize(stream))) : 1;
};
