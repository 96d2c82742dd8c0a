// Lines of the audit trail: written, read again, and read past what a killed process left.
import { expect, test } from "vitest";
import {
  type AuditLine,
  lastOfEach,
  lineText,
  readLines,
  STARTED,
} from "../../../../src/warehouse/audit/audit-line.ts";

const aLine = (more: Partial<AuditLine> = {}): AuditLine => ({
  audit: 1,
  id: "0123456789abcdef",
  started_at: "2026-01-02T03:04:05.006Z",
  actor: "a key",
  way: "key",
  os_user: null,
  address: null,
  action: "query",
  subject: null,
  route: null,
  parameters: [],
  sql: null,
  sql_length: null,
  sql_hash: null,
  run_id: null,
  outcome: "done",
  rows: null,
  bytes: null,
  duration_ms: null,
  unwritten: null,
  ...more,
});
const other = (id: string, more: Partial<AuditLine> = {}) => aLine({ id: id.padEnd(16, "0"), ...more });

test("a line comes back as it was, without what it does not say in between", () => {
  const line = aLine({ parameters: ["1"], rows: 0, sql: 'select "a\nb"' });
  const text = lineText(line);
  expect(text.startsWith('{"audit":1,"id":')).toBe(true);
  expect(text.match(/\n/g)).toHaveLength(1);
  expect(text).not.toContain("os_user");
  expect(readLines(text)).toEqual({ lines: [line], damaged: 0 });
});

test("a statement that holds the start of a line does not cut its own line", () => {
  const line = aLine({ sql: `SELECT '{"audit":1,'` });
  expect(readLines(lineText(line))).toEqual({ lines: [line], damaged: 0 });
});

test.each<[string, Partial<AuditLine>]>([
  ["halves of characters, which no table takes", { subject: "\ud800" }],
  ["a time that no table takes", { started_at: "2026-01-02" }],
  ["an id of another form", { id: "x" }],
])("a line with %s is damaged", (_, more) => {
  expect(readLines(lineText(aLine(more)))).toEqual({ lines: [], damaged: 1 });
});

test("the end of an action replaces its begin, in the order of the begins", () => {
  const [a, b] = [other("a", { outcome: STARTED }), other("b", { outcome: STARTED })];
  const ended = other("a", { outcome: "done" });
  expect(lastOfEach([a, b, ended])).toEqual([ended, b]);
  // Files of two processes may hold them in another order.
  expect(lastOfEach([ended, a])).toEqual([ended]);
});
