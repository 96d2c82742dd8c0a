// duckmirror init: writes a commented duckmirror.yaml. On a terminal it asks for address and token, tests them for one credit,
// asks what to follow and for a budget, and offers the first sync.
import { existsSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { stringify } from "yaml";
import { z } from "zod";
import { planJob } from "../../../../jobs/plan.ts";
import { vocabulary } from "../../../catalog/field-rules.ts";
import { envName, type FlagValues, namedFile, resolveConfig } from "../../../core/config/config.ts";
import { CONFIG_FILE_NAME, parseConfigFile } from "../../../core/config/config-file.ts";
import { settingList, settingsJsonSchema } from "../../../core/config/settings.ts";
import { DuckmirrorError, detailOf, EXIT, hasSystemCode } from "../../../core/errors.ts";
import { makeFolders, replaceFile, writeNewSync } from "../../../core/files/own-files.ts";
import { counted } from "../../../core/text/units.ts";
import { type CommandContext, defineCommand, flag, listOf, option, optionOf } from "../../command.ts";
import { contextFor } from "../../context.ts";
import { testService } from "./check.ts";

// The commented duckmirror.yaml of `init`: every setting, generated from the schema so that none is missing.

const HEAD = `# duckmirror configuration. Flags and environment variables override it; it overrides the defaults.
# A line that begins with "# name:" shows the default of a setting, or an example if it has no default.
# Relative paths start at this file. Durations: 90s, 12h, 7d. Sizes: 64MiB.
`;

const yamlOf = (name: string, value: unknown): string =>
  stringify({ [name]: value }, { flowCollectionPadding: false, lineWidth: 0, collectionStyle: "flow" });

/** A setting as YAML, commented out or not. */
const block = (name: string, value: unknown, active: boolean): string => {
  // Only values use flow style: `companies: [a, b]`.
  const line = yamlOf(name, value).trim().replace(/^\{/, "").replace(/\}$/, "");
  return active ? line : `# ${line}`;
};

/** Text of the file; `given`: settings to write as active. It never contains the token itself. */
export const configTemplate = (given: FlagValues): string => {
  const active: Readonly<Record<string, unknown>> = given;
  const blocks = settingList()
    .filter((setting) => setting.name !== "token")
    .map(({ name, description, fallback, example }) => {
      const shown = active[name] ?? (fallback === null || isEmpty(fallback) ? (example ?? fallback) : fallback);
      return `# ${description} (${envName(name)})\n${block(name, shown, active[name] !== undefined)}\n`;
    });
  return [HEAD, ...blocks].join("\n");
};

const isEmpty = (value: unknown) => typeof value === "object" && value !== null && Object.keys(value).length === 0;

const inputSchema = z.object({
  baseUrl: option("<url>", "address of the service"),
  tokenFile: option("<file>", "file that holds the access token"),
  tokenCommand: option("<command>", "command that prints the access token"),
  follow: option("<companies>", "companies to follow, comma-separated"),
  maxCredits: option("<n>", "most credits that one sync may spend"),
  test: flag("test address and token, for one credit; a failure writes no file"),
  sync: flag("mirror at once"),
  yes: optionOf(z.boolean().default(false), { flags: "-y, --yes", summary: "ask nothing" }),
  force: flag("overwrite an existing file"),
  printSchema: flag("print the file's JSON Schema instead, for editors"),
});
type Input = z.output<typeof inputSchema>;

/** Parses the settings as if they were in the file. Throws CONFIG_INVALID. */
const check = (settings: FlagValues, cwd: string) =>
  resolveConfig({ flags: settings, env: {}, file: null, cwd, vocabulary: vocabulary() });

const problemWith = (settings: FlagValues, cwd: string): string | null => {
  try {
    check(settings, cwd);
    return null;
  } catch (error) {
    return detailOf(error);
  }
};

const askAddress = ({ ask, cwd }: CommandContext) =>
  ask.text({
    message: "Address of the service",
    problem: (answer) =>
      answer === "" ? "An address like https://api.example.com" : problemWith({ base_url: answer }, cwd),
  });

const askToken = async ({ ask, cwd }: CommandContext): Promise<FlagValues> => {
  const source = await ask.choice({
    message: "Where is the access token?",
    choices: [
      { value: "environment", name: "in the environment variable DUCKMIRROR_TOKEN" },
      { value: "file", name: "in a file" },
      { value: "command", name: "a command prints it (a password manager)" },
    ],
  });
  if (source === "environment") return {};
  const setting = source === "file" ? "token_file" : "token_command";
  const message = source === "file" ? "Path of the file" : "Command";
  const answer = await ask.text({ message, problem: (text) => problemWith({ [setting]: text }, cwd) });
  return { [setting]: answer };
};

const yes = async ({ ask }: CommandContext, message: string): Promise<boolean> =>
  (await ask.choice({
    message,
    choices: [
      { value: "yes", name: "yes" },
      { value: "no", name: "no" },
    ],
  })) === "yes";

/** Whether a person answers questions. */
const asksIn = (input: Input, { terminal, shared }: CommandContext): boolean =>
  terminal.isTty.in && terminal.isTty.err && !input.yes && !shared.json;

/** Address and token for the file: from flags, else the environment, else questions. */
const gather = async (input: Input, context: CommandContext): Promise<FlagValues> => {
  const { env, shared } = context;
  const asks = asksIn(input, context);
  const address = input.baseUrl ?? env.DUCKMIRROR_BASE_URL ?? (asks ? await askAddress(context) : undefined);
  const tokenIsKnown = input.tokenFile ?? input.tokenCommand ?? env.DUCKMIRROR_TOKEN ?? env.DUCKMIRROR_TOKEN_FILE;
  const answered = asks && tokenIsKnown === undefined ? await askToken(context) : {};
  const token = { token_file: input.tokenFile ?? env.DUCKMIRROR_TOKEN_FILE, token_command: input.tokenCommand };
  return { base_url: address || undefined, data_dir: shared.dataDir, ...token, ...answered };
};

/** What to follow and what a sync may spend: from flags, else questions. */
const gatherLimits = async (input: Input, context: CommandContext): Promise<FlagValues> => {
  const { ask, cwd } = context;
  const asks = asksIn(input, context);
  const asked = (name: "companies" | "max_credits", message: string) =>
    ask.text({ message, problem: (text) => (text === "" ? null : problemWith({ [name]: text }, cwd)) });
  const companies =
    input.follow ??
    (asks
      ? await asked("companies", "Companies to follow besides tracked accounts (example.com, ACME; empty: none)")
      : "");
  const credits =
    input.maxCredits ??
    (asks ? await asked("max_credits", "Most credits that one sync may spend (empty: no limit)") : "");
  const list = listOf(companies);
  return {
    companies: list.length === 0 ? undefined : list,
    max_credits: /^\d+$/.test(credits) ? Number(credits) : credits || undefined,
  };
};

/**
 * Tests address and token, if that is wished, and shows the answer. Throws what is wrong with them, unless a person wants the
 * file all the same.
 */
const test = async (settings: FlagValues, input: Input, context: CommandContext) => {
  const { cwd, env, terminal, shared } = context;
  const asks = asksIn(input, context);
  const config = resolveConfig({ flags: settings, env, file: null, cwd, vocabulary: vocabulary() });
  const isPossible = config.baseUrl !== null && config.token !== null;
  const wanted = input.test || (asks && isPossible && (await yes(context, "Test address and token now? (one credit)")));
  if (!wanted) return null;
  try {
    const { report, text } = await testService(config, false, context);
    if (!shared.json) await terminal.out(`${text()}\n`);
    return report;
  } catch (error) {
    if (!asks) throw error;
    context.printProblem(error);
    if (await yes(context, "Write the file all the same?")) return null;
    throw error;
  }
};

/** Offers the first sync with its price, and runs it. Null: not wanted. */
const firstSync = async (file: string, input: Input, tested: boolean, context: CommandContext) => {
  if (!input.sync && !(tested && asksIn(input, context))) return null;
  const written = contextFor(context, { ...context.shared, config: file }, context.commands);
  if (!input.sync) {
    const { totalText } = await import("../mirror/plan.ts");
    const config = await written.loadConfig();
    const price = totalText(await planJob(config, {}, context.clock));
    const limit = config.maxCredits === null ? "" : `; it spends at most ${counted(config.maxCredits, "credit")}`;
    if (!(await yes(context, `Mirror now? The first sync: ${price}${limit}`))) return null;
  }
  const { command: sync } = await import("../mirror/sync.ts");
  return sync.execute({ args: [] }, written).finally(() => written.close());
};

/** Typed paths are relative to the working directory; the file's paths are relative to the file. */
const forFile = (settings: FlagValues, folder: string, cwd: string): FlagValues => {
  const moved = (path: FlagValues["token_file"]) =>
    typeof path !== "string" || isAbsolute(path) || path.startsWith("~") || folder === cwd ? path : resolve(cwd, path);
  return { ...settings, token_file: moved(settings.token_file), data_dir: moved(settings.data_dir) };
};

const write = async (file: string, text: string, force: boolean): Promise<void> => {
  try {
    makeFolders(dirname(file));
    if (force) await replaceFile(file, text);
    else writeNewSync(file, text);
  } catch (cause) {
    if (hasSystemCode(cause, "EEXIST") && existsSync(file)) {
      throw new DuckmirrorError("FILE_EXISTS", { file }, { cause });
    }
    throw new DuckmirrorError("CONFIG_FILE_UNWRITABLE", { file, detail: detailOf(cause) }, { cause });
  }
};

const nextSteps = (settings: FlagValues, tested: boolean, { env, shared, invocation }: CommandContext) => {
  const hasSource = settings.token_file ?? settings.token_command ?? env.DUCKMIRROR_TOKEN;
  // Without it the next command would look for the file in the working directory.
  const named = shared.config === undefined ? "" : ` --config ${shared.config}`;
  return [
    ...(settings.base_url ? [] : ["set base_url in it, or DUCKMIRROR_BASE_URL"]),
    ...(hasSource ? [] : ["set DUCKMIRROR_TOKEN to the access token"]),
    ...(tested ? [] : [`${invocation} check${named}    is the connection good, and which tier is it`]),
    `${invocation} plan${named}     what a sync will cost`,
    `${invocation} sync${named}     mirror everything`,
  ];
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { terminal, cwd, shared } = context;
  if (input.printSchema) {
    await terminal.out(`${JSON.stringify(settingsJsonSchema(), null, 2)}\n`);
    return EXIT.done;
  }
  const file = resolve(cwd, namedFile({ configPath: shared.config, env: context.env }) ?? CONFIG_FILE_NAME);
  if (existsSync(file) && !input.force) throw new DuckmirrorError("FILE_EXISTS", { file });
  const access = await gather(input, context);
  check(access, cwd);
  const tested = await test(access, input, context);
  const settings = { ...access, ...(await gatherLimits(input, context)) };
  check(settings, cwd);
  const inFile = forFile(settings, dirname(file), cwd);
  const text = configTemplate(inFile);
  // The text is parsed again, so that a mistake in the template fails here and not in the next command.
  resolveConfig({ flags: {}, env: {}, file: parseConfigFile(text, file), cwd, vocabulary: vocabulary() });
  await write(file, text, input.force);
  await context.show({ file, settings: inFile, ...(tested === null ? {} : { check: tested }) }, () => `wrote ${file}`);
  const code = await firstSync(file, input, tested !== null, context);
  if (code !== null) return code;
  const steps = nextSteps(settings, tested !== null, context).map((step) => `  ${step}\n`);
  if (!shared.quiet) terminal.err(`Next:\n${steps.join("")}`);
  return EXIT.done;
};

export const command = defineCommand({
  examples: {
    "duckmirror init": "asks for address and token, tests them for one credit, and offers the first sync",
    "duckmirror init --yes --test --follow example.com,ACME --max-credits 500": "the same without questions",
    "duckmirror init --yes --base-url https://api.example.com": "asks nothing; the token comes from DUCKMIRROR_TOKEN",
    "duckmirror init --config /etc/duckmirror.yaml --token-file /run/secrets/token": "for a server",
  },
  input: inputSchema,
  run,
});
