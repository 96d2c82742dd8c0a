// What sql/views/freshness.sql says of each stream: whether it is proven complete, and why not. Told from tables in memory,
// without the setting `scope`.
import { z } from "zod";
import { COMPANY_LISTS } from "../../../src/catalog/streams.ts";
import type { ScopeState } from "../../../src/warehouse/record/checkpoint.ts";
import type { MemoryContent } from "./planner-answers.ts";

export interface Verdict extends Record<string, string | number | boolean | null> {
  readonly stream: string;
  readonly complete: boolean;
  /** null: not known. */
  readonly unconfirmed: number | null;
  readonly because: string | null;
  readonly scopes: number;
}

const wantedValue = z.object({
  inputs: z.array(z.string()),
  max_age_ms: z.record(z.string(), z.unknown()),
  usage: z.array(z.string()).default(["usage", "limits", "requests"]),
});
const tierValue = z.object({ tier: z.string(), since: z.string(), proven: z.boolean().default(true) });
const unusableValue = z.array(z.object({ stream: z.string(), scope: z.string() }));
const ownersValue = z.object({ ids: z.array(z.string()) }).nullable();
const grantsValue = z.object({ grants: z.array(z.string()).optional(), partial: z.array(z.string()).nullish() });
const cursorValue = z.object({
  progress: z.object({ coverage: z.object({ total: z.number().nullish(), end: z.number().nullish() }).optional() }),
});

const FULL_ACCESS = ["accounts", "contacts", "signals", "signal_counts", "account_insights"];
const BELOW = ["companies", ...COMPANY_LISTS, "account_insights"];
const LISTS = ["accounts", "contacts", "signals", "signal_counts"];
const DAY = 10;

interface Part {
  readonly because: string | null;
  readonly rows: number;
}

/** Rows that the unfinished walk of a list has not read yet. */
const unread = (cursor: string | null): number => {
  if (cursor === null) return 0;
  const { coverage } = cursorValue.parse(JSON.parse(cursor)).progress;
  return Math.max(0, (coverage?.total ?? 0) - (coverage?.end ?? 0));
};

const partOf = (state: ScopeState | undefined, embeddedCheck: number | null): Part => {
  const { status, error = null, cursor = null, unconfirmed = null } = state ?? {};
  const rows = status === "walking" ? unread(cursor) : (unconfirmed?.rows ?? 0);
  if (status === "walking" && error === null) return { because: "not read to its end", rows };
  if (error !== null || status === "failed") return { because: `the last read failed: ${error ?? "unknown"}`, rows };
  if ((state?.checkedAt ?? embeddedCheck) === null) return { because: "never read", rows };
  const isUncounted = ["accounts", "contacts", "signals"].includes(state?.stream ?? "") && state?.totalCount === null;
  const isLook = (state?.checkedAt ?? 0) > (state?.walkedAt ?? Number.POSITIVE_INFINITY);
  if (unconfirmed === null && isUncounted && isLook) {
    const because = "the service does not count this list, so rows deleted since it was last read whole are not known";
    return { because, rows };
  }
  return { because: unconfirmed?.because ?? null, rows };
};

const most = (texts: readonly string[]): string | undefined => {
  const count = (text: string) => texts.filter((other) => other === text).length;
  return [...texts].sort((a, b) => count(b) - count(a))[0];
};

const reasonOf = (parts: readonly Part[]): string | null => {
  const open = parts.flatMap(({ because }) => (because === null ? [] : [because]));
  if (open.length === 0) return null;
  return parts.length === 1 ? (open[0] ?? null) : `${open.length} of ${parts.length} lists: ${most(open)}`;
};

type Content = Pick<MemoryContent, "rows" | "states" | "capabilities">;

const learned = <T>({ capabilities }: Content, name: string, schema: z.ZodType<T>): T | null => {
  const text = capabilities.get(name);
  return text === undefined ? null : schema.parse(JSON.parse(text));
};

/** Parts of each stream that are followed. */
const partsOf = (content: Content, usage: readonly string[], inputs: readonly string[] | null) => {
  const { rows, states } = content;
  const state = (stream: string, scope: string) => states.get(`${stream}\n${scope}`);
  const companyOf = (table: "accounts" | "company_inputs", isWanted: (id: string) => boolean) =>
    [...rows.of(table).values()].flatMap((row) => {
      const company = rows.cell(table, row, "company_id");
      return company === null || !isWanted(row.id) ? [] : [String(company)];
    });
  const tracked = new Set(companyOf("accounts", () => true));
  const companies = new Set([...tracked, ...companyOf("company_inputs", (id) => inputs?.includes(id) ?? true)]);
  const mirrored = new Set([...rows.of("companies").values()].map(({ id }) => id));
  const shape = learned(content, "shape.accounts", grantsValue);
  const embeds = (shape?.grants?.includes("company") ?? true) && shape?.partial?.includes("company") !== true;
  const parent = state("accounts", "")?.checkedAt ?? null;
  // A company that was never read by its id came with the response to its input.
  const resolved = (id: string) =>
    [...rows.of("company_inputs").values()]
      .filter((row) => rows.cell("company_inputs", row, "company_id") === id)
      .flatMap((row) => state("companies", `input:${row.id}`) ?? [])
      .sort((a, b) => (b.checkedAt ?? 0) - (a.checkedAt ?? 0))[0];
  const profile = (id: string) =>
    partOf(state("companies", id) ?? resolved(id), embeds && tracked.has(id) && mirrored.has(id) ? parent : null);
  return new Map<string, readonly Part[]>([
    ...LISTS.map((stream) => [stream, [partOf(state(stream, ""), null)]] as const),
    ["usage", usage.map((scope) => partOf(state("usage", scope), null))],
    ...COMPANY_LISTS.map((stream) => [stream, [...companies].map((id) => partOf(state(stream, id), null))] as const),
    ["companies", [...companies].map(profile)],
    [
      "account_insights",
      [...rows.of("accounts").values()].map(({ id }) => partOf(state("account_insights", id), null)),
    ],
  ]);
};

/** One verdict for each stream. */
export const completenessOf = (content: Content): readonly Verdict[] => {
  const { rows, states } = content;
  const wanted = learned(content, "wanted", wantedValue);
  const tier = learned(content, "tier", tierValue);
  const isPublic = tier?.tier === "public";
  const known = ["usage", "limits", "requests", "usage:endpoint", "usage:apiKey", "usage:day"].filter((part) =>
    (wanted?.usage ?? ["usage", "limits", "requests"]).includes(part),
  );
  const all = partsOf(content, known, wanted?.inputs ?? null);
  const started = new Set([
    ...Object.keys(wanted?.max_age_ms ?? {}),
    ...[...states.values()].map(({ stream }) => stream),
  ]);
  const accounts = states.get("accounts\n");
  const unresolved = (wanted?.inputs ?? []).filter(
    (input) => ![...rows.of("company_inputs").values()].some(({ id }) => id === input),
  ).length;
  const signals = new Set([...rows.of("signals").values()].map(({ id }) => `detail:${id}`));
  const lacking = (learned(content, "unusable", unusableValue) ?? []).filter(
    ({ stream, scope }) => stream === "signals" && signals.has(scope),
  ).length;
  const contentless = lacking === 0 ? null : `the service does not return the content of ${lacking} signals yet`;
  const unmet = (learned(content, "unlisted.owners", ownersValue)?.ids ?? []).filter((id) =>
    [...rows.of("owners").values()].some((owner) => owner.id === id),
  ).length;
  const ownerless =
    unmet === 0 ? null : `no account brings ${unmet} owners along any more; the next walk of all accounts settles it`;
  const reason = (stream: string, parts: readonly Part[]): string | null => {
    if (!started.has(stream)) return "never read";
    if (isPublic && FULL_ACCESS.includes(stream)) {
      const held =
        stream === "account_insights" || stream === "accounts" || stream === "contacts" || stream === "signals";
      const since = `the organization has no Full Access since ${tier.since.slice(0, DAY)}; the rows are of the time before`;
      if (held && rows.of(stream).size > 0) return since;
      return tier.proven ? null : "the account list was empty once; it is asked for again after a day";
    }
    if (BELOW.includes(stream)) {
      if (accounts === undefined && parts.length === 0 && !isPublic)
        return "accounts were never read, and no company is followed";
      if (accounts !== undefined && accounts.status !== "idle" && !isPublic)
        return "accounts are not read to their end";
      if ((accounts?.checkedAt ?? null) === null && "accounts" in (wanted?.max_age_ms ?? {}) && !isPublic)
        return "accounts were never read";
      const above = reasonOf(all.get("accounts") ?? []);
      if (above !== null && "accounts" in (wanted?.max_age_ms ?? {}) && !isPublic)
        return `accounts are not confirmed: ${above}`;
      if (unresolved > 0 && stream !== "account_insights") return `${unresolved} inputs are not resolved`;
    }
    const more = stream === "signals" ? contentless : stream === "accounts" ? ownerless : null;
    return reasonOf(parts) ?? more;
  };
  return [...all].map(([stream, every]) => {
    const parts = started.has(stream) ? every : [];
    const because = reason(stream, parts);
    const open = parts.filter((part) => part.because !== null).reduce((sum, part) => sum + part.rows, 0);
    return {
      stream,
      complete: because === null,
      unconfirmed: because === null ? 0 : open || null,
      because,
      scopes: parts.length,
    };
  });
};
