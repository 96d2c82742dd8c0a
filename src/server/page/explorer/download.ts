// A result as CSV and as JSON. Pure.
import { cellText } from "../format.ts";

/** Columns and rows of a result. */
interface Rows {
  readonly columns: readonly { readonly name: string }[];
  readonly rows: readonly (readonly unknown[])[];
}

const csvCell = (value: unknown): string => {
  if (value === null) return "";
  const text = cellText(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export const csvOf = ({ columns, rows }: Rows): string =>
  [columns.map(({ name }) => name), ...rows]
    .map((row) => row.map(csvCell).join(","))
    .join("\r\n")
    .concat("\r\n");

export const jsonOf = ({ columns, rows }: Rows): string =>
  JSON.stringify(
    rows.map((row) => Object.fromEntries(columns.map(({ name }, at) => [name, row[at]]))),
    null,
    1,
  );
