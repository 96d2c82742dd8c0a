// Paths of endpoints, and the parameters in a path.
import fc from "fast-check";
import { expect, test } from "vitest";
import { paramsOf, pathOf } from "../../../src/catalog/endpoints.ts";

test("any parameter comes back from its path, but for those that no path segment can carry", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (id) => {
      const carried = id !== "" && id !== "." && id !== "..";
      expect(paramsOf("getContact", pathOf("getContact", { id }))).toEqual(carried ? { id } : null);
    }),
  );
});
