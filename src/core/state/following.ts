// State file of `duckmirror follow` and `unfollow`: companies that are followed beside those of the configuration (API.md, "Endpoints":
// by-input), and those that are followed no more and whose rows the next sync erases. It is no table, so that following works also while a
// sync holds the mirror.
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../config/config.ts";
import { DuckmirrorError } from "../errors.ts";
import { changeShared, readShared, type SharedFile } from "./shared-file.ts";

/** Longest input, in characters: a path of an address must carry it. */
const LONGEST_INPUT = 1000;

const followedSchema = z.object({
  input: z.string(),
  /** When it was followed, ms since the epoch. */
  since: z.number(),
});
const fileSchema = z.object({
  v: z.literal(1),
  following: z.array(followedSchema),
  /** Inputs that are followed no more and whose rows the next sync erases. */
  erase: z.array(z.string()).default([]),
});
type FollowingFile = z.output<typeof fileSchema>;

const fileOf = (dataDir: string): SharedFile<FollowingFile> => ({
  path: join(dataDir, "state", "following.json"),
  schema: fileSchema,
  holds: "list of followed companies",
  without: "companies that only `duckmirror follow` named must be followed again; their rows stay",
  empty: { v: 1, following: [], erase: [] },
});

/** The reason why a text cannot be an input; null: it can. */
export const inputProblem = (input: string): string | null => {
  if (input === "") return "an empty input";
  if (input.length > LONGEST_INPUT) return `an input of ${input.length} characters; the most are ${LONGEST_INPUT}`;
  if (/\p{Cc}/u.test(input)) return `${JSON.stringify(input)} contains a control character`;
  return input === "." || input === ".." ? `"${input}" names no company` : null;
};

/** Inputs that `follow` added, in that order. Throws STATE_FILE_DAMAGED. */
export const readFollowing = async (dataDir: string): Promise<FollowingFile> => readShared(fileOf(dataDir));

/** Follows inputs; those that are followed already stay as they are. Returns the new ones. Throws STATE_FILE_DAMAGED. */
export const follow = async (dataDir: string, inputs: readonly string[], now: number): Promise<readonly string[]> => {
  let added: readonly string[] = [];
  await changeShared(fileOf(dataDir), ({ following, erase }) => {
    const known = new Set(following.map(({ input }) => input));
    added = [...new Set(inputs)].filter((input) => !known.has(input));
    return {
      v: 1 as const,
      following: [...following, ...added.map((input) => ({ input, since: now }))],
      erase: erase.filter((input) => !inputs.includes(input)),
    };
  });
  return added;
};

/** Follows inputs no more. Throws USAGE when one of them is not followed, CONFIG_INVALID. */
export const unfollow = async (
  dataDir: string,
  inputs: readonly string[],
  { erase, configured }: { readonly erase: boolean; readonly configured: readonly string[] },
): Promise<void> => {
  await changeShared(fileOf(dataDir), (file) => {
    const known = new Set(file.following.map(({ input }) => input));
    for (const input of inputs) {
      if (configured.includes(input))
        throw new DuckmirrorError("USAGE", { detail: `${input} is in the configuration (companies); remove it there` });
      if (!known.has(input)) throw new DuckmirrorError("USAGE", { detail: `${input} is not followed` });
    }
    return {
      v: 1 as const,
      following: file.following.filter(({ input }) => !inputs.includes(input)),
      erase: erase ? [...new Set([...file.erase, ...inputs])] : file.erase,
    };
  });
};

/** The rows of these inputs are erased. */
export const noteErased = async (dataDir: string, inputs: readonly string[]): Promise<void> => {
  await changeShared(fileOf(dataDir), (file) => ({
    ...file,
    erase: file.erase.filter((input) => !inputs.includes(input)),
  }));
};

/** The configuration with the inputs that `follow` added. Throws STATE_FILE_DAMAGED. */
export const withFollowing = async (config: Config): Promise<Config> => {
  const { following } = await readFollowing(config.dataDir);
  if (following.length === 0) return config;
  return { ...config, companies: [...new Set([...config.companies, ...following.map(({ input }) => input)])] };
};
