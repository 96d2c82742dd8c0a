// duckmirror init: writes a commented duckmirror.yaml; asks only for the address and the source of the token.
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, isAbsolute, resolve } from "node:path";
import { z } from "zod";
import { vocabulary } from "../../../catalog/vocabulary.ts";
import { type FlagValues, namedFile, resolveConfig } from "../../../core/config/config.ts";
import { CONFIG_FILE_NAME, parseConfigFile } from "../../../core/config/config-file.ts";
import { settingsJsonSchema } from "../../../core/config/settings.ts";
import { DuckmirrorError, detailOf, EXIT, hasSystemCode } from "../../../core/errors.ts";
import { makeFolders } from "../../../core/files/make-folders.ts";
import { writeNewSync } from "../../../core/files/own-files.ts";
import { type CommandContext, defineCommand } from "../../command.ts";
import { configTemplate } from "../../config-template.ts";

const inputSchema = z.object({
  baseUrl: z.string().optional(),
  tokenFile: z.string().optional(),
  tokenCommand: z.string().optional(),
  yes: z.boolean().default(false),
  force: z.boolean().default(false),
  printSchema: z.boolean().default(false),
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

/** Settings for the file: from flags, else the environment, else questions. */
const gather = async (input: Input, context: CommandContext): Promise<FlagValues> => {
  const { terminal, env, shared } = context;
  const asks = terminal.isTty.in && terminal.isTty.err && !input.yes && !shared.json;
  const address = input.baseUrl ?? env.DUCKMIRROR_BASE_URL ?? (asks ? await askAddress(context) : undefined);
  const tokenIsKnown = input.tokenFile ?? input.tokenCommand ?? env.DUCKMIRROR_TOKEN ?? env.DUCKMIRROR_TOKEN_FILE;
  const answered = asks && tokenIsKnown === undefined ? await askToken(context) : {};
  const token = { token_file: input.tokenFile ?? env.DUCKMIRROR_TOKEN_FILE, token_command: input.tokenCommand };
  return { base_url: address || undefined, data_dir: shared.dataDir, ...token, ...answered };
};

/** Typed paths are relative to the working directory; the file's paths are relative to the file. */
const forFile = (settings: FlagValues, folder: string, cwd: string): FlagValues => {
  const moved = (path: FlagValues["token_file"]) =>
    typeof path !== "string" || isAbsolute(path) || path.startsWith("~") || folder === cwd ? path : resolve(cwd, path);
  return { ...settings, token_file: moved(settings.token_file), data_dir: moved(settings.data_dir) };
};

const write = (file: string, text: string, force: boolean) => {
  try {
    makeFolders(dirname(file));
    if (!force) return writeNewSync(file, text);
    const fresh = `${file}.new`;
    // A file of that name was left by a crash, or planted; creating a new file follows no link.
    rmSync(fresh, { force: true });
    writeNewSync(fresh, text);
    renameSync(fresh, file);
  } catch (cause) {
    if (hasSystemCode(cause, "EEXIST") && existsSync(file)) {
      throw new DuckmirrorError("FILE_EXISTS", { file }, { cause });
    }
    throw new DuckmirrorError("CONFIG_FILE_UNWRITABLE", { file, detail: detailOf(cause) }, { cause });
  }
};

const nextSteps = (settings: FlagValues, context: CommandContext) => {
  const hasSource = settings.token_file ?? settings.token_command ?? context.env.DUCKMIRROR_TOKEN;
  // Without it the next command would look for the file in the working directory.
  const named = context.shared.config === undefined ? "" : ` --config ${context.shared.config}`;
  return [
    ...(settings.base_url ? [] : ["set base_url in it, or DUCKMIRROR_BASE_URL"]),
    ...(hasSource ? [] : ["set DUCKMIRROR_TOKEN to the access token"]),
    `duckmirror check${named}    is the connection good, and which tier is it`,
    `duckmirror sync${named}     mirror everything`,
  ];
};

const run = async (input: Input, context: CommandContext): Promise<number> => {
  const { terminal, cwd, shared } = context;
  if (input.printSchema) {
    await terminal.out(`${JSON.stringify(settingsJsonSchema(), null, 2)}\n`);
    return EXIT.done;
  }
  const settings = await gather(input, context);
  check(settings, cwd);
  const file = resolve(cwd, namedFile({ configPath: shared.config, env: context.env }) ?? CONFIG_FILE_NAME);
  const inFile = forFile(settings, dirname(file), cwd);
  const text = configTemplate(inFile);
  // The text is parsed again, so that a mistake in the template fails here and not in the next command.
  resolveConfig({ flags: {}, env: {}, file: parseConfigFile(text, file), cwd, vocabulary: vocabulary() });
  write(file, text, input.force);
  if (shared.json) await context.printJson({ file, settings: inFile });
  else await terminal.out(`wrote ${file}\n`);
  if (!shared.quiet)
    terminal.err(
      `Next:\n${nextSteps(settings, context)
        .map((step) => `  ${step}\n`)
        .join("")}`,
    );
  return EXIT.done;
};

export const command = defineCommand({
  configure: (cli) =>
    cli
      .option("--base-url <url>", "address of the service")
      .option("--token-file <file>", "file that holds the access token")
      .option("--token-command <command>", "command that prints the access token")
      .option("-y, --yes", "ask nothing")
      .option("--force", "overwrite an existing file")
      .option("--print-schema", "print the file's JSON Schema instead, for editors"),
  examples: {
    "duckmirror init": "asks for the address and where the token is",
    "duckmirror init --yes --base-url https://api.example.com": "asks nothing; the token comes from DUCKMIRROR_TOKEN",
    "duckmirror init --config /etc/duckmirror.yaml --token-file /run/secrets/token": "for a server",
  },
  input: inputSchema,
  run,
});
