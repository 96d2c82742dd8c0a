// Adds up events of runs for /metrics: waiting, publishing, exporting. Counts from the start of this process; without
// triggers there are none.
import { Counter, Gauge, Registry } from "prom-client";
import type { ProgressEvent } from "../../core/report/progress-events.ts";

export interface RunFigures {
  readonly registry: Registry;
  /** Adds one event of a run. `now` in ms since the epoch. */
  note(profile: string, event: ProgressEvent, now: number): void;
}

/** Something a worker does now and then, such as publishing: how often, how long in sum, how long the last time. */
const createDurations = (
  registry: Registry,
  noun: "publish" | "export",
  help: { readonly total: string; readonly seconds: string; readonly last: string },
) => {
  const shared = { labelNames: ["profile" as const], registers: [registry] };
  const plural = noun === "publish" ? "publishes" : "exports";
  const total = new Counter({ name: `duckmirror_${plural}_total`, help: help.total, ...shared });
  const seconds = new Counter({ name: `duckmirror_${noun}_seconds_total`, help: help.seconds, ...shared });
  const last = new Gauge({ name: `duckmirror_${noun}_seconds`, help: help.last, ...shared });
  return (profile: string, ms: number): void => {
    total.inc({ profile });
    seconds.inc({ profile }, ms / 1000);
    last.set({ profile }, ms / 1000);
  };
};

/** Concurrent waits of several requests count once. */
const createWaits = (registry: Registry) => {
  const waited = new Counter({
    name: "duckmirror_wait_seconds_total",
    help: "Time that runs of this process waited, by reason: rate limit or retry.",
    labelNames: ["profile", "why"],
    registers: [registry],
  });
  /** End of each profile's present wait. */
  const waitingUntil = new Map<string, number>();
  return (profile: string, { why, until }: Extract<ProgressEvent, { kind: "waiting" }>, now: number): void => {
    // A run does not wait for the next period: it ends.
    if (why === "quota") return;
    const from = Math.max(now, waitingUntil.get(profile) ?? 0);
    if (until <= from) return;
    waited.inc({ profile, why }, (until - from) / 1000);
    waitingUntil.set(profile, until);
  };
};

export const createRunFigures = (): RunFigures => {
  const registry = new Registry();
  const noteWait = createWaits(registry);
  const notePublish = createDurations(registry, "publish", {
    total: "Snapshots published by this process.",
    seconds: "Time that publishing took in this process.",
    last: "How long the last publish of this process took.",
  });
  const noteExport = createDurations(registry, "export", {
    total: "Exports brought up to date by this process.",
    seconds: "Time that exporting took in this process.",
    last: "How long the last export of this process took.",
  });
  return {
    registry,
    note: (profile, event, now) => {
      if (event.kind === "waiting") noteWait(profile, event, now);
      else if (event.kind === "published") notePublish(profile, event.ms);
      else if (event.kind === "exported") noteExport(profile, event.ms);
    },
  };
};
