// Shows the problems of the mirror that need attention, the worst first, each with a link to its page.
import type { ComponentChildren } from "preact";
import type { AlertFigures } from "../../../../jobs/alerts.ts";
import type { FollowedInput } from "../../../../jobs/following.ts";
import type { DeliveryFigures } from "../../../deliver/delivery-results.ts";
import { counted } from "../format.ts";
import { useAsk, useNow, useShared } from "../state.ts";
import type { Alerts, Overview } from "../wire.ts";
import { Badge, Card, Inside } from "./parts.tsx";
import { reasonOf } from "./table-list.tsx";

interface Point {
  readonly mood: "bad" | "warn";
  readonly mark: string;
  readonly text: ComponentChildren;
}

const tablePoints = ({ tables }: Overview, now: number): readonly Point[] => {
  const judged = tables.filter((table) => table.max_age_hours !== null || table.oldest_checked_at !== null);
  const failed = judged.filter((table) => table.failed_scopes > 0);
  const open = judged.filter((table) => !table.complete && table.failed_scopes === 0);
  const old = judged.filter((table) => table.complete && table.due_at !== null && table.due_at < now);
  const line = (table: Overview["tables"][number], why: string | null): ComponentChildren => (
    <>
      <Inside to={`/tables/${table.table_name}`}>{table.table_name}</Inside>
      {why === null ? "" : `: ${why}`}
    </>
  );
  return [
    ...failed.map((table): Point => ({ mood: "bad", mark: "failed", text: line(table, reasonOf(table)) })),
    ...open.map((table): Point => ({ mood: "warn", mark: "incomplete", text: line(table, reasonOf(table)) })),
    ...old.map((table): Point => ({ mood: "warn", mark: "old", text: line(table, "older than its maximum age") })),
  ];
};

const checkPoints = ({ checks }: Overview): readonly Point[] =>
  checks
    .filter(({ status }) => status !== "passed")
    .map(({ check, severity, failing }) => ({
      mood: severity === "error" && failing !== null ? "bad" : "warn",
      mark: "check",
      text: `${check}: ${failing === null ? "could not run" : counted(failing, "row")}`,
    }));

const otherPoints = ({ runs, findings }: Overview): readonly Point[] => {
  const [last] = runs;
  const isBad = last !== undefined && !["done", "running"].includes(last.status);
  const run =
    last === undefined ? null : (
      <>
        <Inside to={`/runs/${encodeURIComponent(last.run_id)}`}>the last run</Inside>
        {last.error === null || last.differences ? "" : `: ${last.error}`}
      </>
    );
  return [
    ...(isBad
      ? [{ mood: last.status === "failed" ? ("bad" as const) : ("warn" as const), mark: last.status, text: run }]
      : []),
    ...(last?.differences
      ? [
          {
            mood: "warn" as const,
            mark: "differences",
            text: (
              <>
                {run} compared the mirror with the service and found {counted(last.differences, "difference")}
              </>
            ),
          },
        ]
      : []),
    ...(findings.rejects > 0
      ? [
          {
            mood: "warn" as const,
            mark: "kept aside",
            text: (
              <>
                {counted(findings.rejects, "record")} did not fit a table; <Inside to="/tables">see them</Inside>
              </>
            ),
          },
        ]
      : []),
  ];
};

/** Deliveries, alerts and followed companies with a problem. */
const outsidePoints = (
  destinations: readonly DeliveryFigures[],
  alerts: readonly AlertFigures[],
  following: readonly FollowedInput[],
): readonly Point[] => {
  const late = destinations.filter(({ state }) => state !== "up to date");
  const lost = following.filter(({ error }) => error !== undefined).length;
  return [
    ...late.map(
      ({ name, state, failing }): Point => ({
        mood: failing === null ? "warn" : "bad",
        mark: "delivery",
        text: (
          <>
            <Inside to="/settings">{name}</Inside>: {state}
            {failing === null ? "" : ` (${failing.code})`}
          </>
        ),
      }),
    ),
    ...alerts
      .filter(({ works, dead }) => !works || dead > 0)
      .map(
        (rule): Point => ({
          mood: rule.works ? "warn" : "bad",
          mark: "alert",
          text: (
            <>
              <Inside to="/settings">{rule.name}</Inside>:{" "}
              {rule.works ? `${counted(rule.dead, "message")} given up` : "the rule does not work"}
            </>
          ),
        }),
      ),
    ...(lost === 0
      ? []
      : [
          {
            mood: "warn" as const,
            mark: "followed",
            text: <Inside to="/accounts">{counted(lost, "followed company")} with a problem</Inside>,
          },
        ]),
  ];
};

/** An answer that is asked for only where the server has it. `isKnown`: it came, failed, or is not asked for. */
const useIf = <T,>(has: boolean, path: string, again: unknown) => {
  const { value, error } = useAsk<T>(has ? path : null, again);
  return { value, isKnown: !has || value !== null || error !== null };
};

/** `children` come below it, and are drawn once it is known how long it is, so that they do not move. */
export const Attention = ({ figures, children }: { figures: Overview; children: ComponentChildren }) => {
  const { profile } = useShared();
  const now = useNow();
  const delivered = useIf<{ destinations: readonly DeliveryFigures[] }>(
    profile.destinations,
    "/api/destinations",
    figures.now,
  );
  const followed = useIf<{ following: readonly FollowedInput[] }>(profile.following, "/api/following", null);
  const sent = useIf<Alerts>(profile.alerts, "/api/alerts", figures.now);
  if (![delivered, followed, sent].every(({ isKnown }) => isKnown)) return null;
  const { destinations = [] } = delivered.value ?? {};
  const { following = [] } = followed.value ?? {};
  const { alerts = [] } = sent.value ?? {};
  const points = [
    ...tablePoints(figures, now),
    ...otherPoints(figures),
    ...checkPoints(figures),
    ...outsidePoints(destinations, alerts, following),
  ];
  if (points.length === 0) return <>{children}</>;
  return (
    <>
      <Card title="Needs attention" id="attention">
        <ul class="plain">
          {points.map(({ mood, mark, text }) => (
            <li>
              <Badge mood={mood}>{mark}</Badge> {text}
            </li>
          ))}
        </ul>
      </Card>
      {children}
    </>
  );
};
