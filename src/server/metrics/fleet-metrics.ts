// Metrics of the fleet: each queue, the members, what is paused. Every worker reports the whole fleet.
import { Gauge, type Registry } from "prom-client";
import { type Fleet, jobsByState } from "../../core/report/fleet.ts";

const STATES = ["waiting", "active", "delayed", "failed"] as const;

export const addFleet = (registry: Registry, fleet: Fleet): void => {
  const { queues, members, paused } = fleet;
  const gauge = (name: string, help: string, ...labelNames: string[]) =>
    new Gauge({ name: `duckmirror_${name}`, help, labelNames, registers: [registry] });
  const all = gauge("queue_jobs", "Jobs of syncs and verifications in all their queues by state.", "state");
  for (const [state, jobs] of Object.entries(jobsByState(fleet))) all.set({ state }, jobs);
  const jobs = gauge("queue_depth", "Jobs of one queue by state.", "queue", "state");
  const oldest = gauge(
    "queue_oldest_waiting_seconds",
    "Time since the oldest waiting job of a queue was added; 0: none waits.",
    "queue",
  );
  const workers = gauge("members", "Worker processes with a recent sign of life.", "version");
  const pauses = gauge("paused", "1 for everything that an operator paused.", "kind", "name");
  for (const { name: queue, oldest_waiting_ms, ...counts } of queues) {
    for (const state of STATES) jobs.set({ queue, state }, counts[state]);
    oldest.set({ queue }, (oldest_waiting_ms ?? 0) / 1000);
  }
  for (const { version } of members) workers.inc({ version });
  for (const { kind, name } of paused) pauses.set({ kind, name: name ?? "" }, 1);
};
