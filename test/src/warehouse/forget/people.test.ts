// Who is to be erased, and by which texts he is known: from rows, old versions and archived records.
import { beforeAll, beforeEach, expect, test } from "vitest";
import type { ForgottenList } from "../../../../src/warehouse/archive/forgotten-list.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { gatherPeople, idsByEmail } from "../../../../src/warehouse/forget/people.ts";
import { forFile } from "../../../support/for-file.ts";

const COLUMNS = ["id", "email", "phone", "professional_network_url", "profile_picture_url", "first_name", "last_name"];
const database = await forFile(openDatabase(":memory:", { threads: 1 }));
beforeAll(async () => {
  await database.run("CREATE SCHEMA history");
  for (const path of ["main.contacts", "history.contacts"])
    await database.run(`CREATE TABLE ${path} (${COLUMNS.map((name) => `${name} VARCHAR`).join(", ")})`);
});
beforeEach(async () => {
  for (const path of ["main.contacts", "history.contacts"]) await database.run(`DELETE FROM ${path}`);
});

type Row = Readonly<Partial<Record<"email" | "phone" | "network" | "picture" | "first" | "last", string>>>;
const aRow = (path: "main" | "history", id: string, { email, phone, network, picture, first, last }: Row) => {
  const cells = [id, email, phone, network, picture, first, last].map((cell) =>
    cell === undefined ? "NULL" : `'${cell}'`,
  );
  return database.run(`INSERT INTO ${path}.contacts VALUES (${cells.join(", ")})`);
};
/** A list with contacts whose erasure was cut off. */
const aList = (...pending: readonly string[]): ForgottenList => ({
  entries: pending.map((id) => ({ hash: `hash of ${id}`, forgotten_at: "2026-01-01T00:00:00Z", done: false })),
  hashOf: (id) => `hash of ${id}`,
  find: () => null,
});
const archive = { dir: "/nowhere", bodies: { contacts: () => [], clean: () => null } };
const tracesOf = async (id: string, list = aList()) => {
  const [person] = (await gatherPeople(database, archive, [id], list)).filter((each) => each.id === id);
  return person?.traces.map(({ kind, text }) => `${kind}: ${text}`).sort();
};

test("a contact is known by every address, number and name that he has or had", async () => {
  await aRow("main", "p1", { email: "ann@new.example", phone: "+49 30 1234", first: "Ann-Marie", last: "Ash" });
  await aRow("history", "p1", {
    email: "ann@old.example",
    network: "https://network.example/ann",
    picture: "https://p.example/a",
  });
  expect(await tracesOf("p1")).toEqual([
    "address: https://network.example/ann",
    "address: https://p.example/a",
    "email: ann@new.example",
    "email: ann@old.example",
    "id: p1",
    "name: Ann-Marie Ash",
    "phone: +49 30 1234",
  ]);
});

test("texts that occur by chance are no traces: short names and numbers, half a name", async () => {
  await aRow("main", "p1", { phone: "12", email: "     ", first: "Al", last: "Li" });
  await aRow("history", "p1", { first: "Maximilian" });
  expect(await tracesOf("p1")).toEqual(["id: p1"]);
});

test("texts of other contacts are not gathered", async () => {
  await aRow("main", "p1", { email: "ann@a.example" });
  await aRow("main", "p2", { email: "bea@a.example" });
  expect(await tracesOf("p1")).toEqual(["email: ann@a.example", "id: p1"]);
});

test("a contact whom the mirror does not hold is erased by his id, and reported as not mirrored", async () => {
  await aRow("main", "p1", {});
  const people = await gatherPeople(database, archive, ["p1", "p9"], aList());
  expect(people.map(({ id, mirrored, hash }) => [id, mirrored, hash])).toEqual([
    ["p1", true, "hash of p1"],
    ["p9", false, "hash of p9"],
  ]);
  expect(people[1]?.traces).toEqual([{ kind: "id", text: "p9" }]);
});

test("an erasure that was cut off is taken up with the next one, as far as there are traces", async () => {
  await aRow("main", "p1", {});
  await aRow("history", "p2", { email: "bea@a.example" });
  const people = await gatherPeople(database, archive, ["p1"], aList("p2", "p3"));
  expect(people.map(({ id }) => id).sort()).toEqual(["p1", "p2"]);
  expect(await gatherPeople(database, archive, ["p1"], aList())).toHaveLength(1);
});

test("contacts are found by an address that they have or had, whatever its capitals", async () => {
  await aRow("main", "p2", { email: "Ann@A.example" });
  await aRow("history", "p1", { email: "ann@a.example" });
  await aRow("history", "p2", { email: "ann@a.example" });
  await aRow("main", "p3", { email: "joann@a.example" });
  expect(await idsByEmail(database, ["ANN@a.EXAMPLE"])).toEqual(["p1", "p2"]);
  expect(await idsByEmail(database, ["nobody@a.example"])).toEqual([]);
  expect(await idsByEmail(database, [])).toEqual([]);
});
