// `duckmirror` without a command: greets, and names the three next steps that fit what is there.
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import type { Config } from "../../../core/config/config.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { EXIT } from "../../../core/errors.ts";
import type { CommandContext } from "../../command.ts";

type Step = readonly [command: string, meaning: string];

const INIT: Step = ["init", "set address and token of your organization, and test them"];

const stepsFor = (config: Config, cwd: string): readonly [state: string, steps: readonly Step[]] => {
  const { baseUrl, dataDir, file } = config;
  const folder = relative(cwd, dataDir) || ".";
  if (baseUrl === null) {
    const demo = join(folder, "demo");
    return existsSync(snapshotPath(join(dataDir, "demo")))
      ? [
          `There is no configuration yet. The mirror of the demo is in ${demo}.`,
          [
            [`query --data-dir ${demo} --list`, "twenty questions to begin with"],
            [`serve --data-dir ${demo}`, "its page, and SQL in the browser"],
            INIT,
          ],
        ]
      : [
          "There is no configuration yet.",
          [["demo", "mirror a generated service, in seconds: no token, no credit"], INIT, ["--help", "all commands"]],
        ];
  }
  if (existsSync(snapshotPath(dataDir))) {
    return [
      `The mirror of ${baseUrl} is in ${folder}.`,
      [
        ["status", "how fresh and complete it is, and what it cost"],
        ["query --list", 'twenty questions to begin with; `query "SQL"` asks your own'],
        ["serve", "status page, SQL in the browser, and the API's routes from the mirror"],
      ],
    ];
  }
  return [
    `${baseUrl} is configured${file === null ? "" : ` (${file})`}; nothing is mirrored yet.`,
    [
      ["check --totals", "test address and token, count the lists: three credits"],
      ["plan", "what the first sync will cost: no credit"],
      ["sync --max-credits 500", "mirror, for at most 500 credits; the next sync continues"],
    ],
  ];
};

/** Writes the greeting to stdout. Throws the errors of loadConfig, except that there is no configuration. */
export const greet = async (context: CommandContext): Promise<number> => {
  const { terminal, version, invocation, cwd } = context;
  const { bold, cyan } = terminal.outColours;
  const [state, steps] = stepsFor(await context.loadConfig(), cwd);
  const commands = steps.map(([command]) => `${invocation} ${command}`);
  const width = Math.max(...commands.map((command) => command.length));
  await terminal.out(
    [
      `${bold(`duckmirror ${version}`)} mirrors the Account Intelligence Read API into a DuckDB file on this machine.`,
      state,
      "",
      "Next:",
      ...steps.map(([, meaning], at) => `  ${cyan((commands[at] ?? "").padEnd(width))}  ${meaning}`),
      "",
    ].join("\n"),
  );
  return EXIT.done;
};
