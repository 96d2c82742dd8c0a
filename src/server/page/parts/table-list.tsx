// Shows the list of mirrored tables: rows, age and completeness of each, in words that need no glossary.
import { count, counted } from "../format.ts";
import { useNow } from "../state.ts";
import type { Table as TableFigures } from "../wire.ts";
import { Badge, Inside, Table, Time } from "./parts.tsx";

/** One badge per table: the worst that is true of it. */
export const TableBadge = ({ table }: { table: TableFigures }) => {
  const now = useNow();
  if (table.failed_scopes > 0) return <Badge mood="bad">{counted(table.failed_scopes, "list")} failed</Badge>;
  if (table.max_age_hours === null && table.oldest_checked_at === null) return <Badge>comes with others</Badge>;
  if (!table.complete) {
    const rows = table.unconfirmed ? `: ${counted(table.unconfirmed, "row")} not confirmed` : "";
    return <Badge mood="warn">incomplete{rows}</Badge>;
  }
  if (table.due_at !== null && now > table.due_at) return <Badge mood="warn">older than configured</Badge>;
  return <Badge mood="good">complete</Badge>;
};

/** Why a table is not complete, in a sentence; null: it is, or nothing is known. */
export const reasonOf = (table: TableFigures): string | null => {
  if (table.error !== null) return table.error;
  if (table.complete) return null;
  if (table.unconfirmed_because !== null) return table.unconfirmed_because;
  if (table.unchecked_scopes > 0)
    return `${count(table.unchecked_scopes)} of ${counted(table.scopes, "list")} were not read yet`;
  return table.oldest_checked_at === null ? "it was not read yet" : null;
};

export const TableList = ({ tables }: { tables: readonly TableFigures[] }) => (
  <Table
    id="fresh"
    title="Tables of the mirror"
    empty="No table yet."
    rows={tables}
    columns={[
      { head: "table", cell: ({ table_name }) => <Inside to={`/tables/${table_name}`}>{table_name}</Inside> },
      { head: "rows", kind: "number", cell: ({ row_count }) => count(row_count) },
      {
        head: "compared",
        meaning: "When the part of the table that was read longest ago was last compared with the service",
        cell: (table) => (table.oldest_checked_at === null ? "–" : <Time at={table.oldest_checked_at} as="ago" />),
      },
      { head: "state", cell: (table) => <TableBadge table={table} /> },
      { head: "why", kind: "cell", wideOnly: true, cell: (table) => reasonOf(table) ?? "" },
    ]}
  />
);
