// Plots of remaining credits with projection, rows over time, and used against allowed rate.

import { byId } from "../dom.ts";
import { count, counted, span, when } from "../format.ts";
import type { Growth, Overview } from "../wire.ts";
import { type Line, showPlot } from "./charts.ts";

const seconds = (ms: number): number => ms / 1000;

export const showCredits = ({ credits, now }: Overview): void => {
  const last = credits.burn.find((day) => day.captured_at !== null);
  const lead = byId("credits-lead");
  const points = credits.readings;
  if (last === undefined || points.length === 0) {
    lead.textContent = "The service has not reported the credits yet.";
    showPlot(byId("credits-plot"), { label: "Credits", x: [], lines: [] });
    return;
  }
  const pace = `About ${count(last.spent_per_day)} credits a day are spent.`;
  lead.textContent =
    last.forecast_empty_on === null
      ? `${pace} At this pace ${count(Math.max(0, last.forecast_remaining ?? 0))} are left at the reset on ${when(last.resets_at)}.`
      : `${pace} At this pace they end on ${last.forecast_empty_on}, before the reset on ${when(last.resets_at)}.`;
  const end = points.at(-1);
  const resetsAt = last.resets_at ?? now;
  const x = [...points.map((point) => seconds(point.captured_at)), seconds(Math.max(resetsAt, now))];
  const known = [...points.map((point) => point.remaining), null];
  const ahead: (number | null)[] = points.map(() => null);
  ahead[points.length - 1] = end?.remaining ?? null;
  const lines: Line[] = [
    { label: "left", values: known, area: true },
    { label: "forecast", values: [...ahead, Math.max(0, last.forecast_remaining ?? 0)], dashed: true },
  ];
  showPlot(byId("credits-plot"), { label: `Credits left over time. ${lead.textContent}`, x, lines });
};

export const showRate = ({ rate, rate_allowed }: Overview): void => {
  const lead = byId("rate-lead");
  const first = rate[0];
  const end = rate.at(-1);
  if (first === undefined || end === undefined) {
    lead.textContent = "No request yet.";
    showPlot(byId("rate-plot"), { label: "Rate", x: [], lines: [] });
    return;
  }
  const refused = rate.reduce((sum, minute) => sum + minute.refused, 0);
  const top = Math.max(...rate.map((minute) => minute.requests));
  const allowed = rate_allowed === null ? "the service sets the limit" : `${count(rate_allowed)} allowed`;
  lead.textContent = `Requests per minute until ${when(end.minute)}: ${count(top)} at most, ${allowed}, ${counted(refused, "refusal")} (429).`;
  const used = new Map(rate.map((minute) => [minute.minute, minute.requests]));
  const x: number[] = [];
  for (let at = first.minute - 60_000; at <= end.minute + 60_000; at += 60_000) x.push(at);
  const lines: Line[] = [{ label: "used", values: x.map((at) => used.get(at) ?? 0), bars: true }];
  if (rate_allowed !== null) lines.push({ label: "allowed", values: x.map(() => rate_allowed), dashed: true });
  showPlot(byId("rate-plot"), { label: lead.textContent, x: x.map(seconds), lines });
};

export const showGrowth = ({ growth }: Growth, now: number): void => {
  const moments = [...new Set(growth.map((point) => point.moment))].sort((a, b) => a - b);
  const x = [...moments, now];
  const names = [...new Set(growth.map((point) => point.table_name))];
  const lines = names.map((name): Line => {
    const known = new Map(
      growth.filter((point) => point.table_name === name).map((point) => [point.moment, point.row_count]),
    );
    let held = 0;
    return {
      label: name,
      values: x.map((at) => {
        held = known.get(at) ?? held;
        return held;
      }),
    };
  });
  const first = moments[0];
  const label = first === undefined ? "Rows over time" : `Rows per table over ${span(now - first)}`;
  showPlot(byId("growth-plot"), { label, x: moments.length === 0 ? [] : x.map(seconds), lines });
};
