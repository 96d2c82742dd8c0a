// Settings of what is kept and published.
import { expect, test } from "vitest";
import { z } from "zod";
import { publishSettings } from "../../../../src/core/config/settings.ts";

const settings = z.object(publishSettings);
const { parse } = settings;

test.each([
  ["2GiB", 2 * 2 ** 30],
  ["mirror", "mirror"],
  ["MIRROR", "mirror"],
  ["keep", null],
  ["none", null],
])("archive_max_size %s is %s", (text, most) => {
  expect(parse({ archive_max_size: text }).archive_max_size).toBe(most);
});

test("unset, the archive takes as much as the mirror, and small snapshots are published each time", () => {
  expect(parse({})).toMatchObject({
    archive_retention_days: 90,
    archive_max_size: "mirror",
    publish_unchanged_every: 6 * 3_600_000,
    publish_unchanged_below: 32 * 2 ** 20,
  });
});

test.each([{ archive_max_size: "much" }, { publish_unchanged_below: "keep" }, { publish_unchanged_every: "often" }])(
  "%j is refused",
  (given) => {
    expect(settings.safeParse(given).success).toBe(false);
  },
);
