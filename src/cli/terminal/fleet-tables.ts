// Queues, members and pauses of the fleet as tables for people. Pure.
import type { Fleet, Pause } from "../../core/report/fleet.ts";
import { formatDuration } from "../../core/text/units.ts";
import { visible } from "../../core/text/visible.ts";
import { isoTime } from "../../core/time.ts";
import { renderTable, right } from "./table.ts";

export const pauseName = ({ kind, name }: Pick<Pause, "kind" | "name">): string =>
  kind === "fleet" ? "the fleet" : `${kind} ${visible(name ?? "?")}`;

/** One line for each pause; empty: nothing is paused. */
export const renderPauses = ({ paused }: Fleet): string =>
  paused
    .map((pause) => `Paused${pause.since === null ? "" : ` since ${isoTime(pause.since)}`}: ${pauseName(pause)}\n`)
    .join("");

export const renderQueues = ({ queues }: Fleet, columns: number): string => {
  const heads = [{ name: "queue" }, ...["waiting", "active", "delayed", "failed", "oldest waits"].map(right)];
  const rows = queues.map(({ name, paused, waiting, active, delayed, failed, oldest_waiting_ms }) => [
    `${name}${paused ? " (paused)" : ""}`,
    ...[waiting, active, delayed, failed].map(String),
    oldest_waiting_ms === null ? "" : formatDuration(oldest_waiting_ms),
  ]);
  return `${renderTable(heads, rows, columns)}\n`;
};

export const renderMembers = ({ members }: Fleet, columns: number): string => {
  if (members.length === 0) return "No worker is registered.\n";
  const heads = [
    ...["version", "host"].map((name) => ({ name })),
    ...["process", "in flight"].map(right),
    { name: "since" },
    { name: "last seen" },
  ];
  const rows = members.map((member) => {
    const { version, host, pid, in_flight, since, silent_ms } = member;
    const seen = silent_ms === null ? "now" : `silent for ${formatDuration(silent_ms)}`;
    return [version, host, String(pid), String(in_flight), isoTime(since), seen];
  });
  return `${renderTable(heads, rows, columns)}\n`;
};
