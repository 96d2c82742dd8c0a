import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { cli } from "../../support/cli.ts";

test.each(["redis://:p%zz@127.0.0.1:6379", "redis://:100%@127.0.0.1:6379"])(
  "a percent sign in the password of Redis that escapes nothing is no fault: %s",
  async (redisUrl) => {
    const dataDir = join(mkdtempSync(join(tmpdir(), "duckmirror-settings-")), "data");
    const { err } = await cli(["status"], { env: { REDIS_URL: redisUrl, DUCKMIRROR_DATA_DIR: dataDir } });
    expect(err).toContain("SNAPSHOT_MISSING");
    expect(err).not.toContain("UNEXPECTED");
  },
);
