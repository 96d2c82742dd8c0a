// duckmirror search: finds records by words, in the published snapshot. Sends nothing.
import { z } from "zod";
import { SEARCHED_TABLES } from "../../../catalog/tables.ts";
import { snapshotPath } from "../../../core/data-dir.ts";
import { EXIT } from "../../../core/errors.ts";
import { jsonText } from "../../../core/json.ts";
import { visible } from "../../../core/text/shown-text.ts";
import { momentBefore } from "../../../core/time.ts";
import { FOR_ONE_ANSWER, openSnapshot } from "../../../warehouse/read/query.ts";
import { type Found, MOST_FOUND, search } from "../../../warehouse/read/search/search.ts";
import { audited } from "../../audited.ts";
import { anyArguments, type CommandContext, defineCommand, listOf, option, optionOf, wholeOf } from "../../command.ts";
import { sayCopy } from "../../context.ts";

const inputSchema = z.object({
  args: anyArguments,
  in: option("<tables>", `search only in these: ${SEARCHED_TABLES.join(", ")}`),
  since: option("<when>", "records dated since then: a date, a time, 24h, 7d or yesterday"),
  limit: optionOf(z.string(), {
    value: "<n>",
    summary: `most records, up to ${MOST_FOUND}`,
    adapt: (one) => one.default("20"),
  }),
});
type Input = z.output<typeof inputSchema>;

const requestOf = ({ args, in: tables, since, limit }: Input, now: number) => {
  return {
    words: args.join(" "),
    tables: listOf(tables),
    ...(since === undefined ? {} : { since: momentBefore("--since", since, now) }),
    limit: wholeOf("--limit", limit, 1, MOST_FOUND),
  };
};

const entryOf = ({ table, key, account_id: account, title, snippet, at }: Found): string => {
  const keys = Object.entries(key).map(([column, value]) => `${column}=${String(value)}`);
  const place = [table, ...keys, account === null ? "" : `account ${account}`, at?.slice(0, 10) ?? ""];
  return `${title ?? keys.join(" ")}\n  ${place.filter((part) => part !== "").join(" · ")}\n  ${snippet}\n`;
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { terminal, clock, shared, printJson } = context;
  const request = requestOf(input, clock.now());
  const config = await context.loadConfig();
  await sayCopy(config, context);
  const snapshot = await openSnapshot(snapshotPath(config.dataDir), FOR_ONE_ANSWER);
  try {
    const read = async () => {
      const found = await search(snapshot, request);
      if (shared.json) await printJson(found.map((one) => ({ ...one, key: { ...one.key } })));
      else if (found.length === 0) terminal.err("nothing found\n");
      else await terminal.out(visible(found.map(entryOf).join("\n")));
      return { rows: found.length, bytes: jsonText(found.map((one) => ({ ...one }))).text.length };
    };
    // Words that were searched may name a person, so the trail has the tables only.
    await audited(config, context, { action: "read", subject: "search" }, read, (written) => written);
    return EXIT.done;
  } finally {
    await snapshot.close();
  }
};

export const command = defineCommand({
  configure: (cli) =>
    cli.argument("<words...>", "words to find; hiring also finds hires, engin* every word that begins so"),
  examples: {
    "duckmirror search series b funding": "records that hold these words, the best match first",
    "duckmirror search hiring engin* --in signals,job_openings --since 30d": "in two tables, of the last 30 days",
    "duckmirror search supply chain --json": "an array of objects: table, key, account_id, title, snippet, score, at",
  },
  input: inputSchema,
  run,
});
