// Tables and views with their meanings; a click on a name puts it into the statement.
import type { Schema } from "../wire.ts";

const SCHEMAS: readonly (readonly [schema: string, title: string])[] = [
  ["main", "Tables of the mirror"],
  ["marts", "Views for analysts"],
  ["history", "Earlier versions"],
  ["sync", "Runs and requests"],
];

export const SchemaTree = ({ schema, onName }: { schema: Schema; onName: (name: string) => void }) => (
  <nav class="tree" aria-label="Tables and columns">
    {SCHEMAS.map(([of, title]) => (
      <details key={of} open={of === "main"}>
        <summary>{title}</summary>
        {schema.tables
          .filter((table) => table.schema === of)
          .map(({ name, grain, columns }) => (
            <details key={name}>
              <summary title={grain}>{name}</summary>
              <ul>
                <li>
                  <button type="button" class="link" onClick={() => onName(of === "main" ? name : `${of}.${name}`)}>
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
            </details>
          ))}
      </details>
    ))}
  </nav>
);
