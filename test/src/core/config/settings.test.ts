// The JSON Schema of the settings.
import { describe, expect, test } from "vitest";
import { settingList, settingsJsonSchema } from "../../../../src/core/config/settings.ts";

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
