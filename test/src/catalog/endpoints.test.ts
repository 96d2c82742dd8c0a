// Paths of endpoints.
import fc from "fast-check";
import { expect, test } from "vitest";
import { leadsTo, pathOf } from "../../../src/catalog/endpoints.ts";

test("a path leads to its endpoint unless no path segment can carry its parameter", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (id) => {
      const carried = id !== "" && id !== "." && id !== "..";
      expect(leadsTo("getContact", pathOf("getContact", id))).toBe(carried);
    }),
  );
});
