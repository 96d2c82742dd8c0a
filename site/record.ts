// `npm run record [-- FOLDER]`: records the commands of the tutorial against a sandbox, as first-minutes.cast (asciicast 2, for any player) and as
// first-minutes.svg, which a page shows. Needs the built program; without a terminal, so it runs anywhere. Default folder: docs/recording.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const COLUMNS = 118;
const COMMANDS: readonly (readonly string[])[] = [
  ["check", "--totals"],
  ["sync", "--quiet"],
  ["query", "select name, bar(main_score, 0, 100, 30) as score from accounts order by main_score desc limit 5"],
  ["sync", "--quiet", "accounts", "contacts", "signals"],
  ["query", "--saved", "rising-and-falling"],
];
const TYPING_S = 0.03;
const READING_S = 4;

const program = process.env.RECORDED_PROGRAM ?? fileURLToPath(new URL("../dist/src/cli/main.js", import.meta.url));
const start = (argv: readonly string[], env: NodeJS.ProcessEnv) =>
  spawn(process.execPath, [program, ...argv], { env, stdio: ["ignore", "pipe", "inherit"] });

/** A command with what it wrote, and when, in seconds from its start. */
interface Scene {
  readonly line: string;
  readonly output: readonly (readonly [seconds: number, text: string])[];
}

const play = async (argv: readonly string[], env: NodeJS.ProcessEnv): Promise<Scene> => {
  const child = start(argv, env);
  const startedAt = performance.now();
  const output: [number, string][] = [];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output.push([(performance.now() - startedAt) / 1000, text]);
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`duckmirror ${argv.join(" ")} ended with ${code}`);
  return { line: `duckmirror ${argv.map((word) => (word.includes(" ") ? `"${word}"` : word)).join(" ")}`, output };
};

/** Every command in a new folder, against a sandbox that changes all the time. */
const playAll = async (): Promise<readonly Scene[]> => {
  const place = mkdtempSync(join(tmpdir(), "duckmirror-recording-"));
  const base = { PATH: process.env.PATH, FORCE_COLOR: "1", COLUMNS: String(COLUMNS) };
  const sandbox = start(["sandbox", "--json", "--rate", "6000", "--evolve", "240"], base);
  try {
    const [first] = await once(sandbox.stdout, "data");
    const { url, token } = JSON.parse(String(first));
    const own = { DUCKMIRROR_BASE_URL: url, DUCKMIRROR_TOKEN: token, DUCKMIRROR_DATA_DIR: join(place, "data") };
    const scenes: Scene[] = [];
    for (const argv of COMMANDS) scenes.push(await play(argv, { ...base, ...own }));
    return scenes.map(({ line, output }) => ({
      line,
      output: output.map(([at, text]) => [at, text.replaceAll(`${place}/`, "")] as const),
    }));
  } finally {
    sandbox.kill("SIGTERM");
    await once(sandbox, "close");
    rmSync(place, { recursive: true, force: true });
  }
};

const castOf = (scenes: readonly Scene[]): string => {
  const lines: string[] = [JSON.stringify({ version: 2, width: COLUMNS, height: 32, title: "duckmirror" })];
  let now = 0;
  const write = (text: string, afterS: number) => {
    now += afterS;
    lines.push(JSON.stringify([Number(now.toFixed(3)), "o", text.replaceAll("\n", "\r\n")]));
  };
  for (const { line, output } of scenes) {
    write("$ ", 0.5);
    for (const character of line) write(character, TYPING_S);
    write("\n", 0.3);
    let before = 0;
    for (const [at, text] of output) {
      write(text, at - before);
      before = at;
    }
    write("", READING_S);
  }
  return `${lines.join("\n")}\n`;
};

/** Class of a part of the picture by the last code that set one: `ESC[36m`. */
const STYLES: Readonly<Record<string, string>> = { 1: "b", 2: "d", 31: "r", 32: "g", 33: "y", 36: "c" };

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

/** A line with its colours as parts of an SVG text. */
const painted = (line: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are a terminal's codes.
  [...line.matchAll(/(?:\u001b\[(\d+)m)?([^\u001b]*)/g)]
    .filter(([, , text]) => text !== "")
    .map(([, code = "", text = ""]) =>
      STYLES[code] === undefined ? escaped(text) : `<tspan class="${STYLES[code]}">${escaped(text)}</tspan>`,
    )
    .join("");

/** The commands one after the other, each for some seconds, again and again. Without animation the last one is shown. */
const svgOf = (scenes: readonly Scene[]): string => {
  const shots = scenes.map(({ line, output }) => [
    `$ ${line}`,
    ...output
      .map(([, text]) => text)
      .join("")
      .split("\n"),
  ]);
  const height = 20 * Math.max(...shots.map((lines) => lines.length)) + 20;
  const all = shots.length * READING_S;
  const groups = shots.map((lines, at) => {
    const texts = lines.map((line, row) => `<text x="12" y="${20 * row + 26}">${painted(line)}</text>`);
    return `<g style="animation-delay:${at * READING_S - all}s">${texts.join("\n")}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${COLUMNS * 8.5} ${height}" role="img" aria-label="duckmirror in a terminal">
<style>
text { font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #ddd; white-space: pre }
.b { font-weight: bold } .d { fill: #999 } .r { fill: #f77 } .g { fill: #7d7 } .y { fill: #ed6 } .c { fill: #6dd }
g { visibility: hidden; animation: shot ${all}s step-end infinite } g:last-of-type { visibility: visible }
@keyframes shot { 0% { visibility: visible } ${100 / shots.length}%, 100% { visibility: hidden } }
</style>
<rect width="100%" height="100%" rx="8" fill="#1d1f21"/>
${groups.join("\n")}
</svg>
`;
};

const folder = process.argv[2] ?? fileURLToPath(new URL("../docs/recording", import.meta.url));
const scenes = await playAll();
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "first-minutes.cast"), castOf(scenes));
writeFileSync(join(folder, "first-minutes.svg"), svgOf(scenes));
