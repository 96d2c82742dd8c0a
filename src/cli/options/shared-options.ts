// Options of every command.
import { type Command, Option } from "commander";

export const addShared = (command: Command): Command =>
  command
    .option("--json", "print one JSON object on stdout")
    .option(
      "--config <file>",
      "configuration file (default: DUCKMIRROR_CONFIG, else duckmirror.yaml in this folder, if there is one)",
    )
    .option("--data-dir <dir>", "where warehouse, state and exports live (default: ./data)")
    .option("--profile <name>", "which organization, where the configuration has several")
    .option("-q, --quiet", "no progress and no log below errors")
    .option("-v, --verbose", "log more; show where an error came from")
    .addOption(new Option("--log-format <format>", "log lines for people or for machines").choices(["pretty", "json"]));
