// The routes that return one record: with the fields it was asked for, and what comes along with it.
import { z } from "zod";
import { hasUsage, type RouteSpec } from "../../catalog/endpoints.ts";
import type { TableName } from "../../catalog/tables.ts";
import { bareAddress, domainCandidates } from "../../core/text/domain-names.ts";
import { type Answer, dataAnswer } from "../envelope.ts";
import type { FilledColumns } from "../kept/kept.ts";
import { Binds } from "../query/filters.ts";
import type { RecordColumns } from "../query/list-query.ts";
import type { Params } from "../query/params.ts";
import { chooseFields } from "../query/params.ts";
import type { FindRecords } from "../reader.ts";
import { idIn, type Reader } from "../reader.ts";
import { Refusal } from "../refusal.ts";
import { LINK_COLUMNS, readAccountLists, readLatestCall, readLinked } from "../related.ts";

// Resolves an input to a company (API.md, "GET /v1/companies/by-input/{companyInputId}").

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

export const notFound = (route: RouteSpec) => new Refusal("not_found", `${route.notFound ?? "not found"}.`);

/** Every function throws `Refusal`, 404, where the mirror has no such record. */
export const createRecords = (database: Reader, findRecords: FindRecords, columns: FilledColumns) => {
  const find = async (what: RecordColumns, id: string) => (await findRecords(what, [id])).get(id);

  const record = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const { fields, named } = chooseFields(table, params, true);
    const found = await find(columns.of({ table, fields, extra: !named }), id);
    if (found === undefined) throw notFound(route);
    return dataAnswer(found.object, hasUsage(route));
  };

  const linkOf = async (table: TableName, id: string, column: string): Promise<readonly string[]> => {
    const binds = new Binds();
    const rows = await database.query(
      `SELECT CAST(t."${column}" AS VARCHAR) AS link FROM main."${table}" AS t WHERE ${idIn(table, [id])(binds)}`,
      binds.values,
      z.object({ link: z.string().nullable() }),
    );
    return rows.flatMap(({ link }) => (link === null ? [] : [link]));
  };

  const workspaceRecord = async (route: RouteSpec, table: TableName, id: string, params: Params): Promise<Answer> => {
    const answer = await record(route, table, id, params);
    const linked = params.list("include").flatMap((include) => {
      const column = LINK_COLUMNS[include];
      return column === undefined ? [] : [{ include, column }];
    });
    const embedded = await Promise.all(
      linked.map(async ({ include, column }) =>
        readLinked(database, include, await linkOf(table, id, column), "record"),
      ),
    );
    const lists = table === "accounts" ? await readAccountLists(database, id, params) : [];
    return { ...answer, included: [...embedded, ...lists] };
  };

  const company = async (route: RouteSpec, id: string | undefined, params: Params): Promise<Answer> => {
    if (id === undefined) throw notFound(route);
    const answer = await record(route, "companies", id, params);
    return { ...answer, included: await readLatestCall(database, id, params.list("include")) };
  };

  const checkCompany = async (route: RouteSpec, id: string): Promise<void> => {
    const known = await find({ table: "companies", fields: [], extra: false }, id);
    if (known === undefined) throw notFound(route);
  };

  return { workspaceRecord, company, checkCompany };
};
