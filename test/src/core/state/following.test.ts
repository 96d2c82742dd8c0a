// Companies that `follow` added: once each, in order, and erased only if that is asked for.
import { expect, test } from "vitest";
import { dropErased, follow, inputProblem, readFollowing, unfollow } from "../../../../src/core/state/following.ts";
import { tempDir } from "../../warehouse/temp-dir.ts";

const inputsIn = async (dataDir: string) => (await readFollowing(dataDir)).following.map(({ input }) => input);
const ALONE = { erase: false, configured: [] };

test.each([
  ["", /empty/],
  ["x".repeat(1001), /1001 characters/],
  ["a\nb", /control character/],
  [".", /names no company/],
  ["..", /names no company/],
])("%j cannot be an input", (input, problem) => {
  expect(inputProblem(input)).toMatch(problem);
});

test("any other text can", () => {
  expect(["acme.com", "...", "x".repeat(1000)].map(inputProblem)).toEqual([null, null, null]);
});

test("an input is followed once, since the first time", async () => {
  const dataDir = tempDir();
  expect(await follow(dataDir, ["a", "b", "a"], 1)).toEqual(["a", "b"]);
  expect(await follow(dataDir, ["b", "c"], 2)).toEqual(["c"]);
  expect((await readFollowing(dataDir)).following).toEqual([
    { input: "a", since: 1 },
    { input: "b", since: 1 },
    { input: "c", since: 2 },
  ]);
});

test("an input that is followed no more keeps its rows, unless they are to be erased, until it is followed again", async () => {
  const dataDir = tempDir();
  await follow(dataDir, ["a", "b", "c"], 1);
  await unfollow(dataDir, ["a"], ALONE);
  await unfollow(dataDir, ["b", "c"], { ...ALONE, erase: true });
  expect(await readFollowing(dataDir)).toMatchObject({ following: [], erase: ["b", "c"] });
  await follow(dataDir, ["b"], 2);
  expect(await readFollowing(dataDir)).toMatchObject({ erase: ["c"] });
  await dropErased(dataDir, ["c"]);
  expect(await readFollowing(dataDir)).toMatchObject({ erase: [] });
});

test("of several inputs one that is not followed, or is configured, leaves all as they were", async () => {
  const dataDir = tempDir();
  await follow(dataDir, ["a"], 1);
  const usage = { code: "USAGE" };
  await expect(unfollow(dataDir, ["a", "x"], ALONE)).rejects.toMatchObject(usage);
  await expect(unfollow(dataDir, ["a"], { erase: false, configured: ["a"] })).rejects.toMatchObject(usage);
  expect(await inputsIn(dataDir)).toEqual(["a"]);
});
