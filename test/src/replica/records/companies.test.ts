// The company that an input names: by id, symbol, profile address, domain or website.
import { beforeAll, beforeEach, expect, test } from "vitest";
import { resolveCompany } from "../../../../src/replica/records/records.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { forFile } from "../../../support/for-file.ts";

const database = await forFile(openDatabase(":memory:", { threads: 1 }));
beforeAll(async () => {
  const text = ["id", "domain", "main_stock_symbol", "professional_network_url", "funding_data_url"];
  await database.run(`CREATE TABLE main.companies (${text.map((name) => `${name} VARCHAR`).join(", ")})`);
  await database.run("CREATE TABLE main.company_inputs (input VARCHAR, company_id VARCHAR)");
});
beforeEach(async () => {
  await database.run("DELETE FROM main.companies");
  await database.run("DELETE FROM main.company_inputs");
});

interface Company {
  readonly domain?: string;
  readonly symbol?: string;
  readonly network?: string;
  readonly funding?: string;
}
const aCompany = (id: string, { domain, symbol, network, funding }: Company = {}) => {
  const cells = [id, domain, symbol, network, funding].map((value) => (value === undefined ? "NULL" : `'${value}'`));
  return database.run(`INSERT INTO main.companies VALUES (${cells.join(", ")})`);
};
const resolved = (input: string) => resolveCompany(database, input);

test.each([
  "c_1",
  " c_1 ",
  "acm",
  "ACME.example",
  "https://www.acme.example/about?x=1#team",
  "shop.acme.example",
  "ann@acme.example",
  "https://network.example/company/acme",
  "Network.example/company/acme/?from=mail",
  "http://www.funding.example/acme#rounds",
])("is found by %s", async (input) => {
  await aCompany("c_0", { domain: "other.example", symbol: "OTH" });
  await aCompany("c_1", {
    domain: "Acme.example",
    symbol: "ACM",
    network: "https://www.network.example/company/acme/",
    funding: "https://funding.example/acme",
  });
  expect(await resolved(input)).toBe("c_1");
});

test.each(["www.network.example/company/acme", "HTTPS://Network.example/company/acme/?trk=x#top"])(
  "a profile is found however the service writes its address: %s",
  async (network) => {
    await aCompany("c_1", { network });
    expect(await resolved("https://network.example/company/acme")).toBe("c_1");
  },
);

test.each(["", "nobody", "nobody.example", "example", "c_"])("nothing is found by %j", async (input) => {
  await aCompany("c_1", { domain: "acme.example", network: "https://network.example/company/acme" });
  expect(await resolved(input)).toBeUndefined();
});

test("an exact id counts before a symbol, and a profile before the domain of its network", async () => {
  await aCompany("ACM");
  await aCompany("c_2", { symbol: "acm" });
  expect(await resolved("ACM")).toBe("ACM");
  await aCompany("network", { domain: "network.example" });
  await aCompany("c_3", { network: "https://network.example/company/acme" });
  expect(await resolved("https://network.example/company/acme")).toBe("c_3");
});

test("the nearest domain counts before its parents", async () => {
  await aCompany("parent", { domain: "acme.example" });
  await aCompany("shop", { domain: "shop.acme.example" });
  expect(await resolved("www.shop.acme.example")).toBe("shop");
  expect(await resolved("eu.acme.example")).toBe("parent");
});

test("an input that the mirror resolved before names its company, one that was not found names none", async () => {
  await aCompany("c_1");
  await database.run("INSERT INTO main.company_inputs VALUES ('Acme Inc', 'c_1'), ('Ghost', NULL)");
  expect(await resolved("Acme Inc")).toBe("c_1");
  expect(await resolved("Ghost")).toBeUndefined();
});
