// The query for the number of mirrored rows per list, generated from the table of streams. Pure.
import { COMPANY_LISTS, ORGANIZATION_LISTS, type StreamName, streamSpec } from "../../catalog/streams.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";

const rowsOf = (stream: StreamName, scope: string, rest = ""): string =>
  `SELECT ${literal(stream)} AS stream, ${scope} AS scope, count(*) AS rows FROM main.${quoted(streamSpec(stream).table)}${rest}`;

/** One row per stream and scope: '' for a list of the organization, else the company's id. Empty lists are absent. */
export const ROWS_BY_SCOPE: string = [
  ...ORGANIZATION_LISTS.map((stream) => rowsOf(stream, "''", " WHERE _in_scope")),
  rowsOf("usage", "'requests'"),
  ...COMPANY_LISTS.map((stream) => rowsOf(stream, "company_id", " GROUP BY company_id")),
].join(" UNION ALL ");
