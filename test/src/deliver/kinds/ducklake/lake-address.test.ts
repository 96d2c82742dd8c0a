// Addresses of lakes: catalogs, files, and the extensions that reach them.
import { expect, test } from "vitest";
import {
  ducklakeSettings,
  resolveDestinations,
} from "../../../../../src/core/config/destinations/destination-settings.ts";
import { lakeAddress } from "../../../../../src/deliver/kinds/ducklake/lake-address.ts";

const address = (url: string, more: Record<string, unknown> = {}, exists = false) => {
  const written = ducklakeSettings.parse({ name: "lake", kind: "ducklake", url, ...more });
  const [settings] = resolveDestinations([written], {}, "/srv");
  if (settings?.kind !== "ducklake") throw new Error("no lake");
  return lakeAddress(settings, () => exists);
};

test("a new local catalog has its files beside it; a catalog that exists knows where they are", () => {
  const made = address("ducklake:sqlite:lake/it's.sqlite");
  expect(made.attachSql).toBe(
    "ATTACH 'ducklake:sqlite:/srv/lake/it''s.sqlite' AS lake (DATA_INLINING_ROW_LIMIT 0, DATA_PATH '/srv/lake/it''s.sqlite.files')",
  );
  expect(made).toMatchObject({ extensions: ["ducklake", "sqlite_scanner"], catalogFile: "/srv/lake/it's.sqlite" });
  expect(address("ducklake:catalog.ducklake", {}, true)).toMatchObject({
    attachSql: "ATTACH 'ducklake:/srv/catalog.ducklake' AS lake (DATA_INLINING_ROW_LIMIT 0)",
    extensions: ["ducklake"],
  });
});

test("a catalog in Postgres with files in a bucket", () => {
  const lake = address("ducklake:postgres:dbname=lake host=db", {
    data_path: "s3://bucket/lake",
    endpoint: "http://localhost:9000",
    path_style: true,
  });
  expect(lake).toMatchObject({
    attachSql:
      "ATTACH 'ducklake:postgres:dbname=lake host=db' AS lake (DATA_INLINING_ROW_LIMIT 0, DATA_PATH 's3://bucket/lake')",
    extensions: ["ducklake", "postgres_scanner", "httpfs"],
    objectStore: { endpoint: "http://localhost:9000", pathStyle: true },
    catalogFile: null,
  });
});

test.each(["ducklake:", "sqlite:catalog", "postgres://host/lake"])("%s is no lake", (url) => {
  expect(() => address(url)).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
});
