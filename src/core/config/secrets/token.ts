// The access token, from the configuration, a file, or a command that prints it.
import { exec, execFile } from "node:child_process";
import { promisify } from "node:util";
import { DuckmirrorError, detailOf } from "../../errors.ts";
import { readGiven } from "../../files/given-files.ts";
import { Secret } from "../../secret.ts";
import type { Config } from "../config.ts";

const COMMAND_TIMEOUT_MS = 30_000;
const LARGEST_TOKEN_BYTES = 64 * 1024;

/** Output of a command: program and arguments, which no shell reads; or a text for the system's own shell. */
const outputOf = async (command: string | readonly string[]): Promise<string> => {
  const options = { timeout: COMMAND_TIMEOUT_MS, maxBuffer: LARGEST_TOKEN_BYTES };
  const { stdout } =
    typeof command === "string"
      ? await promisify(exec)(command, options)
      : await promisify(execFile)(command[0] ?? "", command.slice(1), options);
  return stdout;
};

const clean = (text: string, where: string): Secret => {
  const token = text.trim().replace(/^bearer\s+/i, "");
  if (token === "") throw new DuckmirrorError("CONFIG_INVALID", { detail: `${where} holds no token` });
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new DuckmirrorError("CONFIG_INVALID", { detail: `${where} holds more than one token, or no plain text` });
  }
  return new Secret(token);
};

/**
 * The token to send. Throws TOKEN_MISSING, TOKEN_FILE_UNREADABLE, TOKEN_COMMAND_FAILED, and CONFIG_INVALID when the
 * value cannot be a token. No message contains the value.
 */
export const resolveToken = async ({ token: source }: Pick<Config, "token">): Promise<Secret> => {
  if (source === null) throw new DuckmirrorError("TOKEN_MISSING");
  if (source.kind === "value") return source.value;
  if (source.kind === "file") {
    try {
      return clean(readGiven(source.path, LARGEST_TOKEN_BYTES), `the token file ${source.path}`);
    } catch (cause) {
      if (cause instanceof DuckmirrorError) throw cause;
      throw new DuckmirrorError("TOKEN_FILE_UNREADABLE", { file: source.path, detail: detailOf(cause) }, { cause });
    }
  }
  let printed: string;
  try {
    printed = await outputOf(source.command);
  } catch (cause) {
    // The command's text and output may contain secrets, so the message only says how it ended.
    const ending = cause instanceof Error && "code" in cause ? `it ended with ${String(cause.code)}` : "it did not run";
    throw new DuckmirrorError("TOKEN_COMMAND_FAILED", { detail: ending });
  }
  return clean(printed, "what token_command printed");
};
