// GET /v1/usage, /v1/usage/requests and /v1/usage/limits.
import { type Found, found, notFound } from "./answer.ts";
import type { Fields } from "./json-text.ts";
import { pageOf } from "./lists.ts";
import * as resource from "./resources.ts";
import { writeTime } from "./times.ts";
import type { Workspace } from "./workspace.ts";
import type { Row } from "./world.ts";

const tally = (rows: readonly Row[]): Fields => {
  const successful = rows.filter(({ fields }) => fields.successful === true).length;
  return { requests: rows.length, successful, failed: rows.length - successful };
};

const limitsOf = ({ traits }: Workspace): Fields => {
  switch (traits.credits.limitsShape) {
    case "named":
      return { daily: 5_000, monthly: 100_000 };
    case "list":
      return {
        limits: [
          { period: "day", value: 5_000 },
          { period: "month", value: null },
        ],
      };
    case "nested":
      return { daily: { limit: 5_000, unit: "credits" }, monthly: { limit: 100_000, unit: "credits" } };
    default:
      return traits.credits.limitsShape satisfies never;
  }
};

export const usageRoutes = (workspace: Workspace, route: string | undefined, query: URLSearchParams): Found => {
  const { history, traits, credits, now } = workspace;
  if (route === "limits") return found(limitsOf(workspace), { usage: false });
  if (route === "requests") {
    const list = {
      fields: resource.HISTORY_ITEM,
      rows: [...history],
      sortBy: null,
      largest: traits.pages.largest,
      withheld: {},
    };
    // A log is no search.
    const plain = { ...traits, strangers: { ...traits.strangers, window: null, estimates: false } };
    const answer = pageOf(list, query, plain, { version: 0, answer: "" });
    if (!answer.ok) return answer;
    return found(
      answer.rows.map(({ fields }) => fields),
      { meta: answer.meta, usage: false },
    );
  }
  if (route !== undefined) return notFound("route");
  const groupBy = query.get("groupBy");
  const groups = new Map<string, Row[]>();
  for (const row of history) {
    const key = groupBy === "day" ? String(row.fields.occurredAt).slice(0, 10) : String(row.fields.endpoint);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const breakdown = [...groups].map(([key, rows]) => ({ key, ...tally(rows) }));
  const to = now();
  return found(
    {
      window: query.get("window") ?? "monthly",
      from: writeTime(to - 30 * 86_400_000, "z-ms"),
      to: writeTime(to, "z-ms"),
      quota: credits.quota(to),
      totals: tally(history),
      ...(groupBy === null ? {} : { breakdown }),
    },
    { usage: false },
  );
};
