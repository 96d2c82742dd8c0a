// Options of commands that can read a part of the mirror: one list anew, or what is dated after a day.
import type { Command } from "commander";

const collected = (text: string, all: string[] = []) => [...all, text];

export const addParts = (cli: Command): Command =>
  cli
    .option("--reset <stream[:scope]>", "read this list anew, and nothing else; may be repeated", collected)
    .option("--since <date>", "read contacts that changed and signals dated after this day, and nothing else");
