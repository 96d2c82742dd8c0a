// Workers, queues and pauses of the fleet, read again every few seconds. Shown only if the server has a fleet.
import { useEffect, useState } from "preact/hooks";
import type { Fleet as FleetFigures, Pause } from "../../../core/report/fleet.ts";
import { count, counted, span } from "../format.ts";
import { ask } from "../wire.ts";
import { Badge, Card, Table } from "./parts.tsx";

const POLL_MS = 5_000;

const pauseText = ({ kind, name, since }: Pause, now: number): string =>
  `${kind === "fleet" ? "The fleet" : `${kind === "profile" ? "Profile" : "Queue"} ${name ?? "?"}`} is paused${
    since === null ? "" : ` since ${span(now - since)}`
  }`;

const Members = ({ fleet: { members, now } }: { fleet: FleetFigures }) => (
  <Table
    title="Workers"
    empty="No worker is registered."
    rows={members}
    columns={[
      { head: "host", cell: ({ host }) => host },
      { head: "process", kind: "number", wideOnly: true, cell: ({ pid }) => String(pid) },
      { head: "version", wideOnly: true, cell: ({ version }) => version },
      { head: "in flight", kind: "number", cell: ({ in_flight }) => count(in_flight) },
      { head: "since", wideOnly: true, cell: ({ since }) => `${span(now - since)} ago` },
      {
        head: "state",
        cell: ({ silent_ms }) =>
          silent_ms === null ? (
            <Badge mood="good">alive</Badge>
          ) : (
            <Badge mood="bad">{`silent for ${span(silent_ms)}`}</Badge>
          ),
      },
    ]}
  />
);

const Queues = ({ fleet: { queues } }: { fleet: FleetFigures }) => (
  <Table
    title="Queues"
    empty="No queue."
    rows={queues}
    columns={[
      { head: "queue", cell: ({ name }) => name },
      { head: "waiting", kind: "number", cell: ({ waiting }) => count(waiting) },
      { head: "active", kind: "number", cell: ({ active }) => count(active) },
      { head: "delayed", kind: "number", wideOnly: true, cell: ({ delayed }) => count(delayed) },
      { head: "failed", kind: "number", cell: ({ failed }) => count(failed) },
      {
        head: "oldest waits",
        kind: "number",
        cell: ({ oldest_waiting_ms }) => (oldest_waiting_ms === null ? "–" : span(oldest_waiting_ms)),
      },
      {
        head: "state",
        cell: ({ paused }) => <Badge mood={paused ? "warn" : "good"}>{paused ? "paused" : "open"}</Badge>,
      },
    ]}
  />
);

export const Fleet = () => {
  const [fleet, setFleet] = useState<FleetFigures | null>(null);
  const [isAway, setAway] = useState(false);
  useEffect(() => {
    const read = () =>
      ask<FleetFigures>("/api/fleet").then(
        (found) => {
          setFleet(found);
          setAway(false);
        },
        () => setAway(true),
      );
    void read();
    // A page in the background asks nothing.
    const timer = setInterval(() => void (document.hidden || read()), POLL_MS);
    return () => clearInterval(timer);
  }, []);
  const lead = isAway
    ? "Redis does not answer; these figures are old."
    : fleet === null
      ? " "
      : `${counted(fleet.members.length, "worker")} on this Redis. \`duckmirror pause\` and \`resume\` steer them.`;
  return (
    <Card title="Workers and queues" id="fleet" lead={lead}>
      {fleet === null ? null : (
        <>
          <div role="status">
            {fleet.paused.map((pause) => (
              <Badge mood="warn" key={`${pause.kind} ${pause.name}`}>
                {pauseText(pause, fleet.now)}
              </Badge>
            ))}
          </div>
          <Members fleet={fleet} />
          <Queues fleet={fleet} />
        </>
      )}
    </Card>
  );
};
