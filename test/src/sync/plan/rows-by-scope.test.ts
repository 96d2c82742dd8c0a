// The query for the number of mirrored rows per list names every list of the catalog once.
import { expect, test } from "vitest";
import { COMPANY_LISTS, ORGANIZATION_LISTS } from "../../../../src/catalog/streams.ts";
import { ROWS_BY_SCOPE } from "../../../../src/sync/plan/rows-by-scope.ts";

test("rows of the organization's lists count inside the setting `scope` only, those of companies by company", () => {
  const parts = ROWS_BY_SCOPE.split(" UNION ALL ");
  const partsOf = (stream: string) => parts.filter((part) => part.startsWith(`SELECT '${stream}' `));
  for (const stream of ORGANIZATION_LISTS)
    expect(partsOf(stream)).toEqual([expect.stringMatching(/ WHERE _in_scope$/)]);
  for (const stream of COMPANY_LISTS)
    expect(partsOf(stream)).toEqual([expect.stringMatching(/ company_id AS scope, .* GROUP BY company_id$/)]);
  expect(parts).toHaveLength(ORGANIZATION_LISTS.length + COMPANY_LISTS.length + 1);
});
