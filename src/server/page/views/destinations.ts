// How far the destinations are behind the published snapshot, and why a delivery fails.
import type { DeliveryFigures } from "../../../deliver/notes.ts";
import { byId, fillTable, ofKind } from "../dom.ts";
import { ago, counted, span } from "../format.ts";
import { ask } from "../wire.ts";

const stateText = ({ state, failing, leftOut }: DeliveryFigures, now: number): string =>
  failing === null
    ? [state, ...leftOut.map(({ table, rows }) => `${counted(rows, "row")} of ${table} left out`)].join(", ")
    : `${state}: ${failing.code}, ${counted(failing.attempts, "attempt")}, ${ago(failing.at, now)}`;

const behindText = ({ behindMs }: DeliveryFigures): string =>
  behindMs === null ? "–" : behindMs === 0 ? "no" : span(behindMs);

/** `offered`: this profile has destinations. */
export const showDestinations = async (offered: boolean, now: number): Promise<void> => {
  byId("destinations-card").hidden = !offered;
  if (!offered) return;
  const { destinations } = await ask<{ destinations: readonly DeliveryFigures[] }>("/api/destinations");
  const late = destinations.filter(({ state }) => state !== "up to date").length;
  byId("destinations-lead").textContent =
    late === 0
      ? "Every destination holds the published snapshot."
      : `${late} of ${counted(destinations.length, "destination")} without the published snapshot.`;
  fillTable(
    ofKind("destinations", HTMLTableElement),
    "Destinations",
    [
      { head: "name", cell: ({ name }) => name },
      { head: "kind", wideOnly: true, cell: ({ kind }) => kind },
      { head: "state", kind: "cell", cell: (row) => stateText(row, now) },
      { head: "behind", cell: behindText },
      { head: "delivered", cell: ({ deliveredAt }) => ago(deliveredAt, now) },
    ],
    destinations,
  );
};
