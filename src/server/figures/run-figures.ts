// Adds up events of runs for /metrics: waiting, publishing, exporting. Counts from the start of this process; without
// triggers there are none.
import { Counter, Gauge, Registry } from "prom-client";
import type { ProgressEvent } from "../../core/report/progress-events.ts";

export interface RunFigures {
  readonly registry: Registry;
  /** Adds one event of a run. `now` in ms since the epoch. */
  note(profile: string, event: ProgressEvent, now: number): void;
}

export const createRunFigures = (): RunFigures => {
  const registry = new Registry();
  const registers = [registry];
  const waited = new Counter({
    name: "duckmirror_wait_seconds_total",
    help: "Time that runs of this process waited, by reason: rate limit or retry.",
    labelNames: ["profile", "why"],
    registers,
  });
  const publishes = new Counter({
    name: "duckmirror_publishes_total",
    help: "Snapshots published by this process.",
    labelNames: ["profile"],
    registers,
  });
  const publishing = new Counter({
    name: "duckmirror_publish_seconds_total",
    help: "Time that publishing took in this process.",
    labelNames: ["profile"],
    registers,
  });
  const lastPublish = new Gauge({
    name: "duckmirror_publish_seconds",
    help: "How long the last publish of this process took.",
    labelNames: ["profile"],
    registers,
  });
  const exports = new Counter({
    name: "duckmirror_exports_total",
    help: "Exports brought up to date by this process.",
    labelNames: ["profile"],
    registers,
  });
  const exporting = new Counter({
    name: "duckmirror_export_seconds_total",
    help: "Time that exporting took in this process.",
    labelNames: ["profile"],
    registers,
  });
  const lastExport = new Gauge({
    name: "duckmirror_export_seconds",
    help: "How long the last export of this process took.",
    labelNames: ["profile"],
    registers,
  });
  /** End of each profile's present wait; concurrent waits of several requests count once. */
  const waitingUntil = new Map<string, number>();

  return {
    registry,
    note: (profile, event, now) => {
      if (event.kind === "waiting") {
        // A run does not wait for the next period: it ends.
        if (event.why === "quota") return;
        const from = Math.max(now, waitingUntil.get(profile) ?? 0);
        if (event.until <= from) return;
        waited.inc({ profile, why: event.why }, (event.until - from) / 1000);
        waitingUntil.set(profile, event.until);
      } else if (event.kind === "published") {
        publishes.inc({ profile });
        publishing.inc({ profile }, event.ms / 1000);
        lastPublish.set({ profile }, event.ms / 1000);
      } else if (event.kind === "exported") {
        exports.inc({ profile });
        exporting.inc({ profile }, event.ms / 1000);
        lastExport.set({ profile }, event.ms / 1000);
      }
    },
  };
};
