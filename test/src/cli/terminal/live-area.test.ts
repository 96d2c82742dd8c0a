// Lines that are redrawn in place.
import { PassThrough } from "node:stream";
import pc from "picocolors";
import { expect, test } from "vitest";
import { createLiveArea, createLiveProgress } from "../../../../src/cli/terminal/progress.ts";
import { aPage, at } from "./run-events.ts";

const colours = pc.createColors(false);

test("a live area redraws its lines in place and keeps other text above them", () => {
  const stream = new PassThrough();
  let written = "";
  stream.on("data", (chunk) => {
    written += String(chunk);
  });
  let now = at;
  const area = createLiveArea(stream);
  const progress = createLiveProgress(area, { now: () => now }, { columns: () => 100, colours });
  progress.sink(aPage());
  const first = written;
  progress.sink(aPage({ requests: 2, rows: 2000 }));
  expect(written).toBe(first);
  now += 100;
  progress.sink(aPage({ requests: 3, rows: 3000 }));
  progress.sink({ kind: "note", level: "warn", text: "the service grants 500 rows a page" });
  progress.end();
  expect(first).toContain("1,000/10,500 rows");
  expect(written.slice(first.length)).toContain("\u001b[");
  expect(written).toMatch(/grants 500 rows a page\n[\s\S]*3,000\/10,500 rows/);
});
