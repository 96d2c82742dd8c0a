// Page of one table: rows, age and completeness; its columns with meaning, type and how often they are filled; some rows.
import { Downloads } from "../explorer/download.tsx";
import { count, counted } from "../format.ts";
import { Card, Facts, Inside, Problem, Table, Time } from "../parts/parts.tsx";
import { reasonOf, TableBadge } from "../parts/table-list.tsx";
import { useAsk, useShared } from "../state.ts";
import type { TableDetail } from "../wire.ts";

const openSql = (sql: string): string => `/explorer#sql=${encodeURIComponent(sql)}`;

const Sample = ({ detail }: { detail: TableDetail }) => {
  const { table, filled, sample } = detail;
  // The columns that say most: filled, and not the mirror's own.
  const shown = table.columns.flatMap(({ name }, at) =>
    (filled[at] ?? 0) > 0 && !name.startsWith("_") ? [{ name, at }] : [],
  );
  return (
    <Card title="Some rows" lead="Values are cut off after 200 characters; the explorer shows them whole.">
      <Table<readonly (string | null)[]>
        title={`Rows of ${table.name}`}
        empty="The table is empty."
        rows={sample}
        columns={shown.slice(0, 12).map(({ name, at }) => ({
          head: name,
          cell: (row) => <span class="one-line">{row[at] ?? ""}</span>,
        }))}
      />
    </Card>
  );
};

const Columns = ({ detail: { table, filled, row_count } }: { detail: TableDetail }) => (
  <Card title="Columns">
    <Table
      id="columns"
      title={`Columns of ${table.name}`}
      empty="No column."
      rows={table.columns.map((column, at) => ({ ...column, filled: filled[at] ?? 0 }))}
      columns={[
        { head: "column", cell: ({ name }) => <code>{name}</code> },
        { head: "type", wideOnly: true, cell: ({ type }) => type ?? "" },
        {
          head: "filled",
          kind: "number",
          meaning: "Share of the rows that hold a value",
          cell: ({ filled: rows }) => (row_count === 0 ? "–" : `${Math.floor((100 * rows) / row_count)}%`),
        },
        {
          head: "meaning",
          kind: "cell",
          cell: ({ meaning, allowed, nullWhen }) =>
            [
              meaning,
              allowed === null ? "" : `Values: ${allowed.join(", ")}.`,
              nullWhen === null || nullWhen === "never" ? "" : `Empty: ${nullWhen}.`,
            ]
              .filter(Boolean)
              .join(" "),
        },
      ]}
    />
  </Card>
);

export const TablePage = ({ id }: { id: string }) => {
  const { status } = useShared();
  const { value: detail, error } = useAsk<TableDetail>(`/api/tables/${encodeURIComponent(id)}`);
  if (error !== null) return <Problem error={error} />;
  const figures = status.value?.tables.find(({ table_name }) => table_name === id);
  if (detail === null || figures === undefined) return null;
  const { table, row_count } = detail;
  const key = table.key.map((name) => `"${name}"`).join(", ");
  const reason = reasonOf(figures);
  return (
    <>
      <Card title={table.name} lead={`${table.grain} From: ${table.source}.`}>
        <Facts
          facts={[
            ["State", <TableBadge table={figures} />],
            ["Rows", count(row_count)],
            ["Compared", <Time at={figures.oldest_checked_at} as="ago" />],
            ["Last change", <Time at={figures.last_change_at} as="ago" />],
            ["Read completely", <Time at={figures.oldest_walked_at} as="ago" />],
            ["Key", table.key.join(", ") || "none"],
          ]}
        />
        {reason === null ? null : <p id="reason">Why it is not complete: {reason}.</p>}
        {figures.scopes > 1 ? (
          <p class="hint">
            It is read as {counted(figures.scopes, "list")}, one for each company or account;{" "}
            {count(figures.unchecked_scopes)} were not read yet.
          </p>
        ) : null}
        <p class="buttons">
          <Inside to={openSql(`select * from ${table.name} limit 100`)}>Open in the explorer</Inside>
          <Inside
            to={openSql(
              `-- Earlier versions of one row: put in its key.\nselect * from history.${table.name}\norder by ${key === "" ? "valid_to" : `${key}, valid_to`} desc limit 100`,
            )}
          >
            History of its rows
          </Inside>
        </p>
        <p class="buttons">
          Download all rows: <Downloads sql={`select * from main."${table.name}"`} name={table.name} />
        </p>
      </Card>
      <Columns detail={detail} />
      <Sample detail={detail} />
    </>
  );
};
