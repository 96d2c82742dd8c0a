// The JSON Schema of the settings.
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { settingList, settingsJsonSchema, usageSettings } from "../../../../src/core/config/settings.ts";

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
