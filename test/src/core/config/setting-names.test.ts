// Names of settings in the environment and in the file, and what is said of those that are none.
import { expect, test } from "vitest";
import { parseConfigFile } from "../../../../src/core/config/config-file.ts";
import { checkKeys, envName, warningsOf } from "../../../../src/core/config/setting-names.ts";

test("a setting is in capitals behind the prefix; Redis has its usual name", () => {
  expect([envName("max_credits"), envName("redis_url")]).toEqual(["DUCKMIRROR_MAX_CREDITS", "REDIS_URL"]);
});

test("a variable that looks like a setting is warned of, since a limit that is mistyped would be none", () => {
  expect(warningsOf({ DUCKMIRROR_MAX_CREDIT: "5" })).toEqual([
    "DUCKMIRROR_MAX_CREDIT is not a setting and is ignored. Did you mean DUCKMIRROR_MAX_CREDITS?",
  ]);
  expect(
    warningsOf({ DUCKMIRROR_MAX_CREDITS: "5", DUCKMIRROR_PROFILE: "x", DUCKMIRROR_ZZZZZZ: "1", MAX_CREDIT: "1" }),
  ).toEqual([]);
});

test("a name in the file that is no setting is a problem, with its line", () => {
  const problems = (yaml: string) => checkKeys(parseConfigFile(yaml, "d.yaml"));
  expect(problems("base_url: x\nmax_credit: 5\n")).toEqual([
    "max_credit (d.yaml, line 2) is not a setting. Did you mean max_credits?",
  ]);
  expect(problems("profiles:\n  acme:\n    max_credit: 5\n")).toEqual([
    expect.stringMatching(/^max_credit \(d.yaml, line 3\)/),
  ]);
  expect(problems("profiles:\n  acme:\n    max_credits: 5\n")).toEqual([]);
  expect(checkKeys(null)).toEqual([]);
});

test("a profile has a plain name, and no settings of the whole program", () => {
  const problems = checkKeys(parseConfigFile("profiles:\n  a/b:\n    redis_url: redis://x\n", "d.yaml"));
  expect(problems).toEqual([
    "profile a/b: a name is made of letters, digits, - and _",
    "redis_url (d.yaml, line 3) belongs to the program, not to a profile",
  ]);
});
