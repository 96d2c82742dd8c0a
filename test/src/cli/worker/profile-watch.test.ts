// The check of a worker's profiles: a broken one is tried again every minute.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { watchProfiles } from "../../../../src/cli/worker/served-profile.ts";
import { createScrubber } from "../../../../src/core/secret.ts";
import { aFolder } from "../../../support/cli.ts";
import { configOf } from "../../../support/given-config.ts";

const aRig = (folder: string) => {
  const profileOf = (name: string) => {
    const env = {
      DUCKMIRROR_BASE_URL: "https://api.example",
      DUCKMIRROR_TOKEN_FILE: join(folder, `${name}.token`),
      DUCKMIRROR_DATA_DIR: join(folder, name),
    };
    return { ...configOf(null, env), profile: name };
  };
  const lines: string[] = [];
  const logger = {
    error: (text: string) => void lines.push(`error ${text}`),
    info: (text: string) => void lines.push(`info ${text}`),
  };
  const clock = createManualClock();
  const stop = new AbortController();
  const context = { clock, version: "1.2.3", scrubber: createScrubber(), signal: stop.signal };
  return { profiles: [profileOf("acme"), profileOf("bolt")], lines, logger, clock, stop, context };
};

test("a broken profile is reported once, and works again a minute after it was mended", async () => {
  const folder = aFolder();
  writeFileSync(join(folder, "bolt.token"), "test-token");
  const { profiles, lines, logger, clock, stop, context } = aRig(folder);
  const { unable } = await watchProfiles(profiles, logger, context);
  expect(unable()).toMatchObject([{ profile: "acme", code: "TOKEN_FILE_UNREADABLE" }]);
  await clock.advance(60_000);
  expect(lines).toEqual([expect.stringMatching(/^error profile acme cannot sync: TOKEN_FILE_UNREADABLE: .*Check /)]);
  writeFileSync(join(folder, "acme.token"), "test-token");
  await clock.advance(60_000);
  await expect.poll(unable).toEqual([]);
  expect(lines.slice(1)).toEqual(["info profile acme can sync again"]);
  stop.abort();
});

test("if no profile can sync, the first one's problem is thrown", async () => {
  const { profiles, logger, context } = aRig(aFolder());
  await expect(watchProfiles(profiles, logger, context)).rejects.toMatchObject({
    code: "TOKEN_FILE_UNREADABLE",
    exitCode: 2,
  });
});
