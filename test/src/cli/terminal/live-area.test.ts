// Lines that are redrawn in place.
import { PassThrough } from "node:stream";
import pc from "picocolors";
import { expect, test } from "vitest";
import { createLiveArea, createLiveProgress } from "../../../../src/cli/terminal/progress.ts";
import { aPage, at } from "./run-events.ts";

const colours = pc.createColors(false);

/** What a terminal of so many rows shows, with the lines that went out of it at the top. */
const aTerminal = (rows: number) => {
  const stream = Object.assign(new PassThrough({ encoding: "utf8" }), { rows });
  const lines = [""];
  let row = 0;
  const commands: Readonly<Record<string, (n: number) => void>> = {
    A: (n) => {
      row = Math.max(0, lines.length - rows, row - n);
    },
    K: () => undefined,
    J: () => void lines.splice(row + 1),
  };
  stream.on("data", (text: string) => {
    for (const [part, count = "", command] of text.matchAll(/\p{Cc}\[(\d*)([A-Z])|\n|\P{Cc}+/gu)) {
      if (command !== undefined) commands[command]?.(Number(count));
      else if (part === "\n") row += 1;
      else lines[row] = part;
      if (command === "J") lines[row] = "";
      lines[row] ??= "";
    }
  });
  return { stream, lines };
};

test("a live area redraws its lines in place and keeps other text above them", () => {
  const { stream, lines } = aTerminal(24);
  let now = at;
  const area = createLiveArea(stream);
  const progress = createLiveProgress(area, { now: () => now }, { columns: () => 100, colours });
  progress.sink(aPage());
  expect(lines[0]).toContain("1,000/10,500 rows");
  progress.sink(aPage({ requests: 2, rows: 2000 }));
  expect(lines[0]).toContain("1,000/10,500 rows");
  now += 100;
  progress.sink(aPage({ requests: 3, rows: 3000 }));
  progress.sink({ kind: "note", level: "warn", text: "the service grants 500 rows a page" });
  progress.end();
  stream.write("after");
  const shown = [/^the service grants 500 rows a page$/, /3,000\/10,500 rows/, /^total .*3,000 rows/, /^after$/];
  expect(lines).toEqual(shown.map((line) => expect.stringMatching(line)));
});

test("fewer lines than before leave nothing behind, and more than the terminal has leave no copies above", () => {
  const { stream, lines } = aTerminal(4);
  const area = createLiveArea(stream);
  area.draw(["a", "b", "c"]);
  area.draw(["d"]);
  expect(lines).toEqual(["d", ""]);
  for (const turn of [1, 2, 3]) area.draw(["e", "f", "g", "h", `i${turn}`]);
  expect(lines).toEqual(["g", "h", "i3", ""]);
});
