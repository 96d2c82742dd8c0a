// Answers to the statements of sql/plan, by their text, from tables in memory.
import { z } from "zod";
import type { FieldSpec } from "../../../src/catalog/fields.ts";
import { COMPANY_LISTS, ORGANIZATION_LISTS, type StreamName, streamSpec } from "../../../src/catalog/streams.ts";
import { type TableName, tableSpec } from "../../../src/catalog/tables.ts";
import { ROWS_BY_SCOPE, SAME_ACCOUNTS, UNFILLED_FIELDS } from "../../../src/sync/plan/mirror-view.ts";
import type { OutValue } from "../../../src/warehouse/duckdb/out-values.ts";
import { sqlText } from "../../../src/warehouse/duckdb/sql-files.ts";
import type { RequestRecord, ScopeState } from "../../../src/warehouse/record/checkpoint.ts";
import type { Cell } from "../../../src/warehouse/record/convert-cell.ts";
import { completenessOf } from "./completeness.ts";
import type { MemoryRows, StoredRow } from "./rows.ts";

export interface StoredRun {
  readonly runId: string;
  readonly mode: string;
  readonly startedAt: number;
  readonly forecast: string | null;
  readonly status: string;
  readonly summary: string | null;
}

export interface MemoryContent {
  readonly rows: MemoryRows;
  readonly states: ReadonlyMap<string, ScopeState>;
  readonly runs: ReadonlyMap<string, StoredRun>;
  readonly requests: ReadonlyMap<string, RequestRecord>;
  readonly capabilities: ReadonlyMap<string, string>;
}

type Answer = (params: readonly unknown[]) => readonly Record<string, OutValue>[];

const MICROS = 1000;
const PERIODS = 100;

const textsOf = (param: unknown): readonly string[] => z.array(z.string()).parse(JSON.parse(String(param)));
const hintTypes = z.array(z.object({ type: z.string(), stream: z.string() }));
const instantOf = z.object({ micros: z.bigint() });

/** A cell as a query returns it; times in ms. */
const out = (cell: Cell, isTime: boolean): OutValue => {
  if (typeof cell !== "bigint") return cell;
  return isTime ? Number(cell) / MICROS : Number(cell);
};

const byNumber = (a: string, b: string) => (BigInt(a) < BigInt(b) ? -1 : 1);

export const plannerAnswers = ({
  rows,
  states,
  runs,
  requests,
  capabilities,
}: MemoryContent): Readonly<Record<string, Answer>> => {
  const all = (name: TableName) => [...rows.of(name).values()];
  const value = (name: TableName, row: StoredRow, column: string) => out(rows.cell(name, row, column), false);
  const time = (name: TableName, row: StoredRow, column: string) => {
    const at = out(rows.cell(name, row, column), true);
    return typeof at === "number" ? at : null;
  };
  const text = (name: TableName, row: StoredRow, column: string) => {
    const cell = rows.cell(name, row, column);
    return cell === null ? null : String(cell);
  };
  const namedBy = (column: string) => new Set(all("accounts").map((row) => text("accounts", row, column)));
  const stateOf = (stream: string, scope: string) => states.get(`${stream}\n${scope}`);
  const accountIds = () => new Set(all("accounts").map(({ id }) => id));
  const readings = () =>
    all("usage_snapshots")
      .map((row) => ({
        limit: value("usage_snapshots", row, "limit"),
        used: value("usage_snapshots", row, "used"),
        remaining: value("usage_snapshots", row, "remaining"),
        resetsAt: time("usage_snapshots", row, "resets_at"),
        at: time("usage_snapshots", row, "captured_at") ?? 0,
      }))
      .sort((a, b) => a.at - b.at);

  /**
   * The signal was not mirrored at the check, although the check's run read signals after the signal's date, and it is newer
   * than all that were.
   */
  const aroseUnseen = (signal: StoredRow, createdAt: number | null, { checkedAt, runId }: ScopeState): boolean => {
    const isRead = ({ stream, scope, status, ...request }: RequestRecord) =>
      request.runId === runId && stream === "signals" && scope === "" && status === 200;
    const readAt = Math.min(...[...requests.values()].filter(isRead).map(({ startedAt }) => startedAt));
    if (createdAt === null || createdAt >= readAt || !Number.isFinite(readAt)) return false;
    const before = all("signals").filter(({ firstSyncedAt }) => firstSyncedAt <= (checkedAt ?? 0));
    const dates = before.map((row) => ({ at: time("signals", row, "created_at"), id: row.id }));
    const dated = dates.filter(({ at }) => at !== null);
    const isOlder = ({ at, id }: (typeof dates)[number]) =>
      (at ?? 0) < createdAt || (at === createdAt && byNumber(id, signal.id) < 0);
    return dated.length > 0 && dated.every(isOlder);
  };

  const hints: Answer = ([types, asked]) => {
    const now = Number(instantOf.parse(asked).micros) / MICROS;
    const found = new Map<string, Record<string, OutValue> & { signal_count: number }>();
    const companyOf = new Map(all("accounts").map((row) => [row.id, text("accounts", row, "company_id")]));
    for (const { type, stream } of hintTypes.parse(JSON.parse(String(types)))) {
      for (const signal of all("signals")) {
        const company = companyOf.get(text("signals", signal, "account_id") ?? "") ?? null;
        const state = company === null ? undefined : stateOf(stream, company);
        if (company === null || state?.checkedAt == null || value("signals", signal, "type") !== type) continue;
        const createdAt = time("signals", signal, "created_at");
        if (signal.firstSyncedAt <= state.checkedAt || signal.runId === state.runId) continue;
        if (signal.firstSyncedAt > now && !((createdAt ?? 0) > state.checkedAt)) continue;
        const isLater = (createdAt ?? signal.firstSyncedAt) > state.checkedAt;
        if (!isLater && !aroseUnseen(signal, createdAt, state)) continue;
        const id = `${stream}\n${company}`;
        const before = found.get(id);
        const least = before !== undefined && String(before.type) < type ? String(before.type) : type;
        found.set(id, { stream, company_id: company, signal_count: (before?.signal_count ?? 0) + 1, type: least });
      }
    }
    return [...found.values()];
  };

  const periods: Answer = () => {
    const full = readings().filter((one) =>
      [one.limit, one.used, one.remaining, one.resetsAt].every((x) => x !== null),
    );
    const ends = [...new Set(full.map(({ resetsAt }) => resetsAt ?? 0))].sort((a, b) => b - a).slice(0, PERIODS);
    return ends.flatMap((resetsAt) => {
      const mine = full.filter((one) => one.resetsAt === resetsAt);
      const [first, last] = [mine[0], mine.at(-1)];
      if (first === undefined || last === undefined) return [];
      return [
        {
          resets_at: resetsAt,
          first_at: first.at,
          last_at: last.at,
          first_limit: first.limit,
          first_used: first.used,
          first_remaining: first.remaining,
          last_limit: last.limit,
          last_used: last.used,
          last_remaining: last.remaining,
        },
      ];
    });
  };

  const spentByWork: Answer = (params) => {
    const [period = 0, day = 0] = params.map((param) => Number(instantOf.parse(param).micros) / MICROS);
    const sums = new Map<string, { stream: string; work: string | null; of_day: number; of_period: number }>();
    for (const { stream, work, charge, startedAt } of requests.values()) {
      if (startedAt < Math.min(period, day) || charge === "free") continue;
      const sum = sums.get(`${stream} ${work}`) ?? { stream, work, of_day: 0, of_period: 0 };
      sum.of_day += Number(startedAt >= day);
      sum.of_period += Number(startedAt >= period);
      sums.set(`${stream} ${work}`, sum);
    }
    return [...sums.values()];
  };

  const withoutContent: Answer = ([most]) =>
    all("signals")
      .filter((row) => {
        const state = stateOf("signals", `detail:${row.id}`);
        const at = time("signals", row, "updated_at");
        const changed = at === null ? null : Math.floor(at);
        return state === undefined || (state.watermark === null ? null : Math.floor(state.watermark)) !== changed;
      })
      .sort((a, b) => {
        const [left, right] = [time("signals", a, "date") ?? -1, time("signals", b, "date") ?? -1];
        return right - left || -byNumber(a.id, b.id);
      })
      .slice(0, Number(most))
      .map((row) => ({
        id: row.id,
        account_id: text("signals", row, "account_id"),
        updated_at: time("signals", row, "updated_at"),
      }));

  return {
    [sqlText("plan/contacts-changed-after.sql")]: ([after]) => {
      const since = Number(instantOf.parse(after).micros) / MICROS;
      const changed = all("contacts").filter((row) => (time("contacts", row, "last_change_detected_on") ?? -1) > since);
      return [{ rows: changed.length }];
    },
    // No history is kept here: each version of an account counts as other content.
    [SAME_ACCOUNTS]: () => [],
    [sqlText("plan/accounts.sql")]: () =>
      all("accounts")
        .sort((a, b) => byNumber(a.id, b.id))
        .map((row) => ({
          id: row.id,
          company_id: value("accounts", row, "company_id"),
          priority: value("accounts", row, "priority"),
          score: value("accounts", row, "main_score"),
          changed_at: row.syncedAt,
        })),
    [sqlText("plan/companies.sql")]: () => all("companies").map(({ id }) => ({ id })),
    [sqlText("plan/inputs.sql")]: () =>
      all("company_inputs").map((row) => ({
        input: row.id,
        company_id: value("company_inputs", row, "company_id"),
        resolved_at: time("company_inputs", row, "resolved_at"),
      })),
    [sqlText("plan/hints.sql")]: hints,
    [sqlText("plan/signals-without-content.sql")]: withoutContent,
    [UNFILLED_FIELDS]: () => {
      const inputs = new Set(all("company_inputs").map((row) => text("company_inputs", row, "company_id")));
      const embedded = all("companies").filter(
        ({ id }) => (stateOf("companies", id)?.checkedAt ?? null) === null && !inputs.has(id),
      );
      const isUnfilled = ({ column, optIn, namedOnly }: FieldSpec) =>
        !optIn && !namedOnly && embedded.every((row) => rows.cell("companies", row, column) === null);
      return embedded.length === 0
        ? []
        : tableSpec("companies")
            .fields.filter(isUnfilled)
            .map(({ name }) => ({ field: name }));
    },
    [sqlText("plan/mirrored-companies.sql")]: ([ids]) => {
      const named = namedBy("company_id");
      return textsOf(ids).flatMap((id) =>
        all("companies").some((row) => row.id === id) ? [{ id, named: named.has(id) }] : [],
      );
    },
    [sqlText("plan/inputs-of-companies.sql")]: ([ids]) => {
      const companies = textsOf(ids);
      return all("company_inputs")
        .filter((row) => companies.includes(text("company_inputs", row, "company_id") ?? ""))
        .map(({ id }) => ({ id }))
        .sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    [sqlText("plan/company-of-input.sql")]: ([input]) =>
      all("company_inputs").some((row) => row.id === input && text("company_inputs", row, "company_id") !== null)
        ? [{ held: 1 }]
        : [],
    [sqlText("plan/insight-of-account.sql")]: ([account]) =>
      all("account_insights").some(({ id }) => id === String(account)) ? [{ held: 1 }] : [],
    [sqlText("plan/insights-without-account.sql")]: () => {
      const ids = accountIds();
      if (stateOf("accounts", "")?.walkedAt == null) return [];
      return all("account_insights").flatMap(({ id }) => (ids.has(id) ? [] : [{ id }]));
    },
    [sqlText("plan/owners.sql")]: () => all("owners").map(({ id }) => ({ id })),
    [sqlText("plan/owners-without-account.sql")]: () => {
      const named = namedBy("owner_id");
      return all("owners").flatMap(({ id }) => (named.has(id) ? [] : [{ id }]));
    },
    [sqlText("plan/last-quota.sql")]: () => {
      const last = readings()
        .filter(({ remaining }) => remaining !== null)
        .at(-1);
      if (last === undefined) return [];
      const { limit, used, remaining, at } = last;
      const named = readings().filter(({ resetsAt: reset }) => reset !== null && reset > at);
      const resetsAt = last.resetsAt ?? named.at(-1)?.resetsAt ?? null;
      return [{ credit_limit: limit, used, remaining, resets_at: resetsAt, captured_at: at }];
    },
    [sqlText("plan/credits-left.sql")]: ([given]) => {
      const now = Number(instantOf.parse(given).micros) / MICROS;
      const last = readings()
        .filter((one) => one.remaining !== null && one.at <= now && (one.resetsAt === null || one.resetsAt > now))
        .at(-1);
      if (last === undefined) return [];
      const since = [...requests.values()].filter(
        ({ charge, startedAt, durationMs }) => charge === "spent" && startedAt + durationMs > last.at + 1,
      );
      const remaining = Math.max(0, Number(last.remaining) - since.length);
      return [{ credit_limit: last.limit, remaining, resets_at: last.resetsAt }];
    },
    [sqlText("plan/period-readings.sql")]: periods,
    [sqlText("plan/spent-by-work.sql")]: spentByWork,
    [sqlText("plan/past-runs.sql")]: ([most]) =>
      [...runs.values()]
        .filter(({ status, forecast, summary }) => status === "done" && forecast !== null && summary !== null)
        .sort((a, b) => b.startedAt - a.startedAt)
        .slice(0, Number(most))
        .map(({ forecast, summary }) => ({ forecast, summary })),
    [sqlText("plan/crashed-runs.sql")]: () => {
      const syncs = [...runs.values()].filter(({ mode }) => mode === "full" || mode === "incremental");
      const latest = syncs.toSorted((a, b) => a.startedAt - b.startedAt).at(-1);
      return [...runs.values()]
        .filter(
          (run) => run.status === "running" || (run === latest && run.status === "failed" && run.summary === null),
        )
        .map(({ runId, status }) => ({ run_id: runId, ended: status !== "running" }));
    },
    [sqlText("plan/stamped-ahead.sql")]: ([given]) => {
      const latest = Number(instantOf.parse(given).micros) / MICROS;
      const known = [...states.values()];
      const isAhead = known.some(({ checkedAt, walkedAt }) => Math.max(checkedAt ?? 0, walkedAt ?? 0) > latest);
      const isBehind = known.some(({ scope, watermark }) => scope === "" && (watermark ?? 0) > latest);
      return [{ ahead: isAhead && !isBehind }];
    },
    [sqlText("status/checks.sql")]: () => [],
    [sqlText("plan/completeness.sql")]: () => completenessOf({ rows, states, capabilities }),
    [ROWS_BY_SCOPE]: () => [
      ...ORGANIZATION_LISTS.map((stream) => ({ stream, scope: "", rows: all(streamSpec(stream).table).length })),
      { stream: "usage", scope: "requests", rows: all(streamSpec("usage").table).length },
      ...COMPANY_LISTS.flatMap((stream: StreamName) => {
        const counts = new Map<string, number>();
        for (const { company } of all(streamSpec(stream).table)) counts.set(company, (counts.get(company) ?? 0) + 1);
        return [...counts].map(([scope, count]) => ({ stream, scope, rows: count }));
      }),
    ],
  };
};
