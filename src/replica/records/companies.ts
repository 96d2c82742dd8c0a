// Resolves an input to a company (API.md, "GET /v1/companies/by-input/{companyInputId}").
import { z } from "zod";
import { bareAddress, domainCandidates } from "../../core/text/domain-names.ts";
import type { Reader } from "../reader.ts";

/** `bareAddress` as SQL, for stored addresses. */
const bare = (column: string): string => {
  const host = `regexp_replace(lower(trim(${column})), '^([a-z][a-z0-9+.-]*://)?(www\\.)?', '')`;
  return `regexp_replace(regexp_replace(${host}, '[?#].*$', '', 's'), '/+$', '')`;
};

// One statement, so that the order is visible: an exact id first, a domain last, because a profile address also
// contains a domain (the network's). company_inputs holds the inputs that a mirror resolved before.
const SQL = `
SELECT id FROM (
  SELECT id, 1 AS rank FROM main.companies WHERE id = $1
  UNION ALL SELECT id, 2 FROM main.companies WHERE upper(main_stock_symbol) = upper($1)
  UNION ALL SELECT id, 3 FROM main.companies WHERE ${bare("professional_network_url")} = $2
  UNION ALL SELECT id, 4 FROM main.companies WHERE ${bare("funding_data_url")} = $2
  UNION ALL SELECT company_id, 5 FROM main.company_inputs WHERE input = $1 AND company_id IS NOT NULL
  UNION ALL
  SELECT id, 5 + list_position(string_split($3, ','), lower(domain)) FROM main.companies
  WHERE list_contains(string_split($3, ','), lower(domain))
) ORDER BY rank, id LIMIT 1`;

/** Id of the company for an id, stock symbol, profile address, domain or website; undefined when there is none. */
export const resolveCompany = async (reader: Reader, input: string): Promise<string | undefined> => {
  const trimmed = input.trim();
  const rows = await reader.query(
    SQL,
    [trimmed, bareAddress(trimmed), domainCandidates(trimmed).join(",")],
    z.object({ id: z.string() }),
  );
  return rows[0]?.id;
};
