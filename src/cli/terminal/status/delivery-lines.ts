// How far the destinations are: a table of `status`, and members of `status --json`.
import { formatDuration } from "../../../core/text/units.ts";
import { isoTimeOrNull } from "../../../core/time.ts";
import { type DeliveryFigures, leftOutText } from "../../../deliver/notes.ts";
import { renderTable } from "../table.ts";

const stateText = ({ state, failing, leftOut }: DeliveryFigures, ago: (ms: number | null) => string): string => {
  if (failing === null) return leftOut.length === 0 ? state : `${state}, ${leftOutText(leftOut)}`;
  const since = failing.attempts === 1 ? ago(failing.at) : `${failing.attempts} times since ${ago(failing.since)}`;
  return `${state}: ${failing.code}, ${since}`;
};

/** Empty without destinations. */
export const deliveryLines = (
  figures: readonly DeliveryFigures[],
  columns: number,
  ago: (ms: number | null) => string,
  red: (text: string) => string,
): readonly string[] => {
  if (figures.length === 0) return [];
  const heads = [
    { name: "destination" },
    { name: "kind" },
    { name: "state" },
    { name: "behind" },
    { name: "delivered" },
  ];
  const rows = figures.map((one) => [
    one.name,
    one.kind,
    stateText(one, ago),
    one.behindMs === null ? "" : one.behindMs === 0 ? "no" : formatDuration(one.behindMs),
    ago(one.deliveredAt),
  ]);
  const isFailure = (text: string) => /^(failing|given up)/.test(text);
  return [renderTable(heads, rows, columns, (text, column) => (column === 2 && isFailure(text) ? red(text) : text))];
};

export const deliveryJson = (figures: readonly DeliveryFigures[]) =>
  figures.map(({ name, kind, state, change, behindMs, deliveredAt, lastMs, leftOut, failing }) => ({
    name,
    kind,
    state: state.replaceAll(" ", "_"),
    change,
    behind_seconds: behindMs === null ? null : behindMs / 1000,
    delivered_at: isoTimeOrNull(deliveredAt),
    duration_ms: lastMs,
    left_out: leftOut,
    error: failing === null ? null : failing.code,
    failing_since: isoTimeOrNull(failing?.since ?? null),
    failed_attempts: failing?.attempts ?? 0,
  }));
