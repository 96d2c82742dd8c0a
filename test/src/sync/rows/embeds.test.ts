// Records that come along with a response: every shape that `included` may have, and what is left out of them.
import { describe, expect, test } from "vitest";
import { streamSpec } from "../../../../src/catalog/streams.ts";
import type { JsonObject } from "../../../../src/core/json.ts";
import { embeddedRecords, withoutContent } from "../../../../src/sync/rows/embeds.ts";

const embed = streamSpec("accounts").embeds.find(({ table }) => table === "companies");
if (embed === undefined) throw new Error("accounts bring no companies");
const [key = ""] = embed.keys;
const recordsOf = (value: JsonObject[string]) => embeddedRecords({ [key]: value }, embed);
const acme = { id: "c_1", name: "Acme" };

describe("embedded records", () => {
  test.each<[string, JsonObject[string], unknown[]]>([
    ["one record", acme, [acme]],
    ["a list", [acme, null, { id: "c_2" }], [acme, { id: "c_2" }]],
    ["a map by id whose records hold it", { c_1: acme, c_2: null }, [acme]],
    ["a map by id whose records lack it", { c_1: { name: "Acme" } }, [{ name: "Acme", id: "c_1" }]],
    ["a record without an id, which loading rejects", { name: "Acme" }, [{ name: "Acme" }]],
    ["a text, which loading rejects", "Acme", ["Acme"]],
    ["nothing", null, []],
    ["an empty map", {}, []],
    ["a map of nothing", { c_1: null }, []],
  ])("from %s", (_, value, records) => {
    expect(recordsOf(value)).toEqual(records);
  });

  test("are searched under each of their keys, and under no other", () => {
    const included = Object.fromEntries(embed.keys.map((name) => [name, [{ id: name }]]));
    expect(embeddedRecords(included, embed)).toEqual(embed.keys.map((id) => ({ id })));
    expect(embeddedRecords({ else: [acme] }, embed)).toEqual([]);
    expect(embeddedRecords(null, embed)).toEqual([]);
  });

  test("a key named __proto__ is an id like any other", () => {
    const included: JsonObject = JSON.parse('{"__proto__":{"name":"Acme"}}');
    expect(recordsOf(included)).toEqual([{ name: "Acme", id: "__proto__" }]);
  });
});

test("heavy fields that are not configured are left out; a record without them stays the same object", () => {
  const record = { id: 1, headline: "x", fullContent: "long" };
  expect(withoutContent(record, "signals")).toEqual({ id: 1, headline: "x" });
  expect(withoutContent(record, "signals", ["fullContent"])).toBe(record);
  const light = { id: 1 };
  expect(withoutContent(light, "signals")).toBe(light);
  expect(withoutContent("text", "signals")).toBe("text");
});
