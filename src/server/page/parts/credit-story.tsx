// Shows credits on the start page: those left, the cost of a day, and the forecast until the reset. The verdict uses the same figures.
import { count, counted } from "../format.ts";
import type { Overview } from "../wire.ts";
import { Bar, Inside, Time } from "./parts.tsx";

export const latestReading = ({ credits }: Overview) => credits.burn.find((day) => day.captured_at !== null) ?? null;

export const CreditStory = ({ figures, more = false }: { figures: Overview; more?: boolean }) => {
  const last = latestReading(figures);
  if (last === null || last.remaining === null) return <p>The service has not reported the credits yet.</p>;
  const { remaining, credit_limit: limit, resets_at: resetsAt, spent_per_day: perDay } = last;
  const isReset = resetsAt !== null && resetsAt <= figures.now;
  const isOut = remaining <= 0 && !isReset;
  return (
    <>
      <p class={isOut ? "figure bad" : last.forecast_empty_on === null ? "figure" : "figure warn"} id="credits-left">
        {count(remaining)} <small>of {count(limit)} credits left</small>
      </p>
      {limit ? (
        <Bar share={remaining / limit} label={`${Math.round((100 * remaining) / limit)}% of the credits are left`} />
      ) : null}
      <p id="credits-forecast">
        {isReset ? (
          "The credits were reset since the last sync; the next one learns how many there are."
        ) : isOut ? (
          <>
            They are spent. The reset is on <Time at={resetsAt} />.
          </>
        ) : last.forecast_empty_on === null ? (
          <>
            About {count(perDay)} a day are spent. At this pace{" "}
            {counted(Math.max(0, Math.round(last.forecast_remaining ?? remaining)), "credit")} are left at the reset on{" "}
            <Time at={resetsAt} />.
          </>
        ) : (
          <>
            About {count(perDay)} a day are spent. At this pace they end on {last.forecast_empty_on}, before the reset
            on <Time at={resetsAt} />.
          </>
        )}{" "}
        {more ? <Inside to="/credits">Where they go</Inside> : null}
      </p>
    </>
  );
};
