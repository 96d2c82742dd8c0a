// The query for accounts whose present version differs in no documented field from the one of which their insight is: an unknown
// field that the service adds makes no insight due. Generated from the catalog. Pure.
import { tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";

const same = tableSpec("accounts").fields.map(
  ({ column }) => `a.${quoted(column)} IS NOT DISTINCT FROM h.${quoted(column)}`,
);

/** One row per account that has another version than the insight's, with the same content; none if that version is pruned. */
export const SAME_ACCOUNTS: string = `SELECT CAST(a.id AS VARCHAR) AS id FROM main.accounts AS a
  JOIN sync.stream_state AS s ON s.stream = 'account_insights' AND s.scope = CAST(a.id AS VARCHAR)
  JOIN history.accounts AS h ON h.id = a.id AND h._synced_at = s.watermark
  WHERE a._synced_at <> s.watermark AND ${same.join(" AND ")}`;
