// What a terminal shows: questions, live lines, invocations and lookups.
import { once } from "node:events";
import { PassThrough } from "node:stream";
import pc from "picocolors";
import { expect, test } from "vitest";
import { invocationOf } from "../../../../src/cli/start.ts";
import { lookupLines } from "../../../../src/cli/terminal/lookup-json.ts";
import { createLiveArea, createLiveProgress } from "../../../../src/cli/terminal/progress.ts";
import { createAsker, outputWidth } from "../../../../src/cli/terminal/terminal.ts";
import { nothingFound } from "../../../../src/sync/lookup/lookup-in-mirror.ts";
import { aPage, at } from "./run-events.ts";

/** Answers the questions one after the other, each when its prompt is there. */
const asked = (answers: readonly string[]) => {
  const input = new PassThrough();
  const output = new PassThrough({ encoding: "utf8" });
  const left = [...answers];
  let shown = "";
  output.on("data", (text: string) => {
    shown += text;
    if (/: (\p{Cc}\[\d*[A-Z])*$/u.test(text)) input.write(left.shift() ?? "");
  });
  const ask = createAsker({ input, output: Object.assign(output, { isTTY: true, columns: 80 }) });
  return { ask, input, output, shown: () => shown };
};
const choices = [
  { value: "environment", name: "in the environment" },
  { value: "file", name: "in a file" },
] as const;

test("a text is asked for until it is right, and Enter takes what is proposed", async () => {
  const { ask, shown } = asked(["four\n", " 12 \n", "\n"]);
  const problem = (text: string) => (/^\d+$/.test(text) ? null : "A number, please");
  expect(await ask.text({ message: "How many", problem })).toBe("12");
  expect(shown()).toContain("A number, please");
  expect(await ask.text({ message: "Port", initial: "8737", problem })).toBe("8737");
  expect(shown()).toContain("Port (8737): ");
});

test("a choice is a number or the beginning of a word, and Enter is the first", async () => {
  const { ask, shown } = asked(["2\n", "Fi\n", "\n", "7\n", "1\n"]);
  const answers = [];
  for (const message of ["a", "b", "c", "d"]) answers.push(await ask.choice({ message, choices }));
  expect(answers).toEqual(["file", "file", "environment", "environment"]);
  expect(shown()).toContain("  2  in a file\n");
  expect(shown()).toContain("Type a number from 1 to 2.");
});

test.each([
  ["Ctrl-C", "\u0003"],
  ["Ctrl-D", "\u0004"],
])("%s at a question ends the program", async (_, key) => {
  const { ask } = asked([key]);
  await expect(ask.text({ message: "Address" })).rejects.toMatchObject({ code: "INTERRUPTED" });
});

test("the end of input at a question ends the program", async () => {
  const { ask, input, output } = asked([]);
  const prompt = once(output, "data");
  const answer = ask.text({ message: "Address" });
  const refused = expect(answer).rejects.toMatchObject({ code: "INTERRUPTED" });
  await prompt;
  input.end();
  await refused;
});

test.each([
  [
    "npx",
    "/p/node_modules/.bin/duckmirror",
    { npm_command: "exec", PATH: "/p/node_modules/.bin:/usr/bin" },
    "npx duckmirror",
  ],
  ["a global installation", "/usr/local/bin/duckmirror", { PATH: "/usr/local/bin:/usr/bin" }, "duckmirror"],
  ["a local installation", "/p/node_modules/.bin/duckmirror", { PATH: "/usr/bin" }, "npx duckmirror"],
  ["a checkout", "/p/dist/src/cli/main.js", { PATH: "/usr/bin" }, "node dist/src/cli/main.js"],
  ["npm run demo", "/p/dist/src/cli/main.js", { npm_command: "run-script" }, "node dist/src/cli/main.js"],
])("of %s, commands are suggested in its form", (_name, script, env, expected) => {
  expect(invocationOf(script, env, "/p")).toBe(expected);
});

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

type Result = Parameters<typeof lookupLines>[0];
const result = (more: Partial<Result>): Result => ({
  ...nothingFound(0, "found"),
  ...{ kind: "company", input: "acme.com", source: "service", credits: 1, kept: true, error: null },
  ...more,
});
const lines = (more: Partial<Result>, now = 0) => lookupLines(result(more), now).split("\n");

test("values come line by line, members of objects indented, and what is empty is left out", () => {
  const record = {
    id: 9007199254740993n,
    name: null,
    tags: ["a", { b: 1n }],
    none: [],
    place: { city: "Oslo", zip: null },
  };
  expect(lines({ record })).toEqual([
    "id                      9007199254740993",
    "tags",
    "  - a",
    '  - {"b":1}',
    "place",
    "  city                    Oslo",
    "source: service, 1 credit",
    "",
  ]);
  expect(lines({ record: { empty: { a: null } } })[0]).toBe("source: service, 1 credit");
});

test("an answer of the mirror has its age, never a negative one; one of the service has none", () => {
  expect(lines({ source: "mirror", credits: 0, asOf: 1_000 }, 61_000)[0]).toBe(
    "source: mirror, as of 1m ago, 0 credits",
  );
  expect(lines({ source: "mirror", credits: 0, asOf: 9_000 }, 0)[0]).toContain("as of 0.0s ago");
  expect(lines({ asOf: 1_000 }, 61_000)[0]).not.toContain("ago");
});

test("an answer that the mirror does not hold yet says when it will", () => {
  expect(lines({ kept: false })[0]).toMatch(/1 credit; it enters the mirror with the next run that can write to it$/);
});

test("candidates are listed, and the latest call only where there is one", () => {
  const found = lines({ candidates: [{ id: 7n }, { id: 8n }], latestEarningsCall: { year: 2026 } });
  expect(found.slice(0, 4)).toEqual([
    "latestEarningsCall",
    "  year                    2026",
    'candidate               {"id":7}',
    'candidate               {"id":8}',
  ]);
});

test("the width is what COLUMNS asks for, else the terminal's, and without a terminal nothing is cut", () => {
  expect(outputWidth({ COLUMNS: "60" }, 120)).toBe(60);
  expect(outputWidth({ COLUMNS: "60" }, null)).toBe(60);
  expect(outputWidth({}, 120)).toBe(120);
  expect(outputWidth({ COLUMNS: "" }, 120)).toBe(120);
  expect(outputWidth({ COLUMNS: "wide" }, null)).toBeGreaterThan(5000);
});
