// The configuration file that `init` writes.
import { expect, test } from "vitest";
import { parse } from "yaml";
import { configTemplate } from "../../../src/cli/commands/start/init.ts";
import { settingList } from "../../../src/core/config/settings.ts";

test("what was given is active, everything else a comment", () => {
  const text = configTemplate({ base_url: "https://api.example.com", max_page_size: "50" });
  expect(parse(text)).toEqual({ base_url: "https://api.example.com", max_page_size: "50" });
  expect(parse(configTemplate({}))).toBeNull();
});

test("every setting but the token is described once, with its variable", () => {
  const text = configTemplate({});
  const names = settingList().map(({ name }) => name);
  for (const name of names.filter((each) => each !== "token")) {
    expect(text.match(new RegExp(`^# ${name}:`, "gm")), name).toHaveLength(1);
  }
  expect(text).not.toMatch(/^# token:/m);
  expect(text).toContain("(DUCKMIRROR_MAX_PAGE_SIZE)");
});

test("a default is shown; where it is empty, the example, in flow style", () => {
  const text = configTemplate({});
  const { example } = settingList().find(({ name }) => name === "companies") ?? {};
  expect(text).toContain("# max_page_size: 1000\n");
  expect(Array.isArray(example)).toBe(true);
  expect(text).toContain(`# companies: [${String(example).replaceAll(",", ", ")}]\n`);
});
