// Tables and views with their meanings; a click on a name puts it into the statement.
import { useState } from "preact/hooks";
import type { Schema } from "../wire.ts";

const SCHEMAS: readonly (readonly [schema: string, title: string])[] = [
  ["main", "Tables of the mirror"],
  ["marts", "Views for analysts"],
  ["history", "Earlier versions"],
  ["sync", "Runs and requests"],
];

interface TableProps {
  readonly table: Schema["tables"][number];
  readonly onName: (name: string) => void;
}

/** A table; its columns are drawn once it is unfolded, because hundreds of them take longer than all else on the page. */
const TableNode = ({ table: { schema, name, grain, columns }, onName }: TableProps) => {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary title={grain}>{name}</summary>
      {isOpen ? (
        <ul>
          <li>
            <button type="button" class="link" onClick={() => onName(schema === "main" ? name : `${schema}.${name}`)}>
              insert the name
            </button>
          </li>
          {columns.map((column) => (
            <li key={column.name}>
              <button type="button" class="link" title={column.meaning} onClick={() => onName(column.name)}>
                {column.name}
              </button>{" "}
              <span class="hint">{column.type}</span>
            </li>
          ))}
        </ul>
      ) : null}
    </details>
  );
};

export const SchemaTree = ({ schema, onName }: { schema: Schema; onName: (name: string) => void }) => (
  <nav class="tree" aria-label="Tables and columns">
    {SCHEMAS.map(([of, title]) => (
      <details key={of} open={of === "main"}>
        <summary>{title}</summary>
        {schema.tables
          .filter((table) => table.schema === of)
          .map((table) => (
            <TableNode key={table.name} table={table} onName={onName} />
          ))}
      </details>
    ))}
  </nav>
);
