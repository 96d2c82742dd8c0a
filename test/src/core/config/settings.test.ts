// Settings about usage, about what is kept and published, and the JSON Schema of all.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  publishSettings,
  settingList,
  settingsJsonSchema,
  usageSettings,
} from "../../../../src/core/config/settings.ts";

// Settings about the organization's usage.

const settings = z.object(usageSettings);

test("a breakdown is found whatever its case, and an unknown one names what was meant", () => {
  expect(settings.parse({ usage_breakdowns: "APIKEY,day" }).usage_breakdowns).toEqual(["apiKey", "day"]);
  const { error } = settings.safeParse({ usage_breakdowns: ["endpoints"] });
  expect(error?.issues[0]?.message).toContain("Did you mean endpoint?");
});

test("the history reaches from nothing to ten years back, a month unless set", () => {
  const days = (value: unknown) => settings.safeParse({ usage_history_days: value }).data?.usage_history_days;
  expect([days("0"), days("3650"), days(undefined)]).toEqual([0, 3650, 30]);
  expect([days("3651"), days("-1"), days("1.5")]).toEqual([undefined, undefined, undefined]);
});

const kept = z.object(publishSettings);

test.each([
  ["2GiB", 2 * 2 ** 30],
  ["mirror", "mirror"],
  ["MIRROR", "mirror"],
  ["keep", null],
  ["none", null],
])("archive_max_size %s is %s", (text, most) => {
  expect(kept.parse({ archive_max_size: text }).archive_max_size).toBe(most);
});

test("unset, the archive takes as much as the mirror, and small snapshots are published each time", () => {
  expect(kept.parse({})).toMatchObject({
    archive_retention_days: 90,
    archive_max_size: "mirror",
    publish_unchanged_every: 6 * 3_600_000,
    publish_unchanged_below: 32 * 2 ** 20,
  });
});

test.each([{ archive_max_size: "much" }, { publish_unchanged_below: "keep" }, { publish_unchanged_every: "often" }])(
  "%j is refused",
  (given) => {
    expect(kept.safeParse(given).success).toBe(false);
  },
);

describe("the JSON Schema", () => {
  test("describes every setting and allows no other", () => {
    const schema = settingsJsonSchema();
    expect(schema.additionalProperties).toBe(false);
    expect(Object.keys(schema.properties ?? {})).toEqual([...settingList().map(({ name }) => name), "profiles"]);
    for (const setting of settingList()) expect(setting.description, setting.name).toMatch(/^[A-Z`a-z].*\.$/);
  });

  test("carries defaults and examples", () => {
    expect(settingsJsonSchema().properties).toMatchObject({
      max_page_size: { default: 1000 },
      base_url: { examples: ["https://api.example.com"] },
    });
  });
});
