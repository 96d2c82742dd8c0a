// Workers, queues and pauses of the fleet, read again every few seconds. Shown only if the server has a fleet.
import type { Fleet, Pause } from "../../../core/report/fleet.ts";
import { badge, byId, fillTable, make, ofKind } from "../dom.ts";
import { ago, count, counted, span } from "../format.ts";
import { ask } from "../wire.ts";

const POLL_MS = 5_000;

const pauseText = ({ kind, name, since }: Pause, now: number): string =>
  `${kind === "fleet" ? "The fleet" : `${kind === "profile" ? "Profile" : "Queue"} ${name ?? "?"}`} is paused${
    since === null ? "" : ` since ${span(now - since)}`
  }`;

const showPauses = ({ paused, now }: Fleet): void => {
  const lines = paused.map((pause) => make("div", { class: "buttons" }, badge(pauseText(pause, now), "warn")));
  const place = byId("fleet-paused");
  // A screen reader announces only changes.
  if (place.textContent !== lines.map(({ textContent }) => textContent).join("")) place.replaceChildren(...lines);
};

const showMembers = ({ members, now }: Fleet): void =>
  fillTable(
    ofKind("fleet-members", HTMLTableElement),
    members.length === 0 ? "No worker is registered." : "Workers",
    [
      { head: "host", cell: ({ host }) => host },
      { head: "process", kind: "number", wideOnly: true, cell: ({ pid }) => String(pid) },
      { head: "version", wideOnly: true, cell: ({ version }) => version },
      { head: "in flight", kind: "number", cell: ({ in_flight }) => count(in_flight) },
      { head: "since", wideOnly: true, cell: ({ since }) => ago(since, now) },
      {
        head: "state",
        cell: ({ silent_ms }) =>
          silent_ms === null ? badge("alive", "good") : badge(`silent for ${span(silent_ms)}`, "bad"),
      },
    ],
    members,
  );

const showQueues = ({ queues }: Fleet): void =>
  fillTable(
    ofKind("fleet-queues", HTMLTableElement),
    "Queues",
    [
      { head: "queue", cell: ({ name }) => name },
      { head: "waiting", kind: "number", cell: ({ waiting }) => count(waiting) },
      { head: "active", kind: "number", cell: ({ active }) => count(active) },
      { head: "delayed", kind: "number", cell: ({ delayed }) => count(delayed) },
      { head: "failed", kind: "number", cell: ({ failed }) => count(failed) },
      {
        head: "oldest waits",
        kind: "number",
        cell: ({ oldest_waiting_ms }) => (oldest_waiting_ms === null ? "–" : span(oldest_waiting_ms)),
      },
      { head: "state", cell: ({ paused }) => (paused ? badge("paused", "warn") : badge("open", "good")) },
    ],
    queues,
  );

const look = async (): Promise<void> => {
  try {
    const fleet = await ask<Fleet>("/api/fleet");
    byId("fleet-lead").textContent =
      `${counted(fleet.members.length, "worker")} on this Redis. \`duckmirror pause\` and \`resume\` steer them.`;
    showPauses(fleet);
    showMembers(fleet);
    showQueues(fleet);
  } catch {
    byId("fleet-lead").textContent = "Redis does not answer; these figures are old.";
  }
};

/** `offered`: the server has a fleet. */
export const startFleet = async (offered: boolean): Promise<void> => {
  byId("fleet").hidden = !offered;
  if (!offered) return;
  await look();
  // A page in the background asks nothing.
  setInterval(() => void (document.hidden || look()), POLL_MS);
};
