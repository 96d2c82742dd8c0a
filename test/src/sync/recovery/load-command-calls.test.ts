// Calls of commands that hold no warehouse are booked by the next process that does: once, and only when they are over.
import { expect, test } from "vitest";
import { ENDPOINTS } from "../../../../src/catalog/endpoints.ts";
import { loadCommandCalls } from "../../../../src/sync/recovery/load-command-calls.ts";
import type { CallLine } from "../../../../src/warehouse/journal/call-lines.ts";
import { appendCallLine, readCallFiles } from "../../../../src/warehouse/journal/journal.ts";
import { createMemoryArchive } from "../../../support/memory-archive.ts";
import { aRequest, aWarehouse, rowsOf } from "../../warehouse/builders.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const answered = (requestId: string, more: Partial<ReturnType<typeof aRequest>> = {}): CallLine => {
  const request = { ...aRequest(requestId, { runId: "r", startedAt: 20, ...more }), work: null };
  return {
    line: "answered",
    request: { ...request, serviceRequestId: null, apiVersion: null },
    quota: null,
    until: 90,
  };
};
const sent = (requestId: string): CallLine => ({
  line: "sent",
  requestId,
  stream: "signals",
  scope: "",
  endpoint: "/v1/signals",
  url: "/v1/signals",
  at: 30,
  until: 90,
});

test("answered calls with their charge, an open one as ambiguous, an unknown input as such; a second time changes nothing", async () => {
  const dataDir = tempDir();
  const warehouse = await aWarehouse(dataDir);
  const write = (line: CallLine) => appendCallLine(dataDir, "r", line);
  write({ line: "begin", runId: "r", mode: "lookup", at: 10, until: 50 });
  write(answered("a"));
  const gone = { stream: "companies", endpoint: ENDPOINTS.resolveCompany.path, status: 404, charge: "free" } as const;
  write(answered("b", { ...gone, scope: "input:nobody" }));
  // At a wrong address every input looks unknown.
  write(answered("d", { ...gone, scope: "input:acme.com", error: "ROUTE_NOT_FOUND: x" }));
  write(sent("c"));
  const booking = (now: number) => ({
    dataDir,
    archive: createMemoryArchive(() => undefined),
    clock: { now: () => now },
  });
  // The process may still be at work.
  await loadCommandCalls(warehouse, booking(90));
  expect(await readCallFiles(dataDir)).toHaveLength(1);
  const lines = await readCallFiles(dataDir);
  await loadCommandCalls(warehouse, booking(91));
  expect(await readCallFiles(dataDir)).toEqual([]);
  const booked = () => rowsOf(warehouse, "SELECT request_id, charge, error FROM sync.requests ORDER BY request_id");
  const rows = await booked();
  expect(rows).toEqual([
    { request_id: "a", charge: "spent", error: null },
    { request_id: "b", charge: "free", error: null },
    { request_id: "c", charge: "ambiguous", error: expect.any(String) },
    { request_id: "d", charge: "free", error: "ROUTE_NOT_FOUND: x" },
  ]);
  expect(await rowsOf(warehouse, "SELECT input, company_id FROM company_inputs")).toEqual([
    { input: "nobody", company_id: null },
  ]);
  expect(await rowsOf(warehouse, "SELECT run_id, mode, status FROM sync.runs")).toEqual([
    { run_id: "r", mode: "lookup", status: "done" },
  ]);
  // A file that could not be removed is booked again.
  expect(lines).toHaveLength(1);
  for (const line of [answered("a"), sent("c")]) write(line);
  await loadCommandCalls(warehouse, booking(99));
  expect(await booked()).toEqual(rows);
});
