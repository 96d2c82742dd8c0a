import { expect, test } from "vitest";
import { literal, quoted } from "../../../../src/core/text/sql-text.ts";

test("a key becomes a literal that no text can break out of", () => {
  expect(literal("it's")).toBe("'it''s'");
  expect(literal("a\0b")).toBe("'a' || chr(0) || 'b'");
  expect(literal(-5n)).toBe("-5::BIGINT");
});

test("a name becomes an identifier that no text can break out of", () => {
  expect(quoted('a"b')).toBe('"a""b"');
});
