import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { aFolder } from "../../support/cli.ts";
import { replayOf } from "../../support/equal-replay.ts";
import { anOrganization } from "../../support/fake-data.ts";
import { createFakeService } from "../../support/fake-service.ts";
import { dumpMirror } from "../../support/mirror-dump.ts";
import { startSyncRig } from "../../support/sync-rig.ts";

const KEY = "0123456789abcdef-key";
const RULES = {
  DUCKMIRROR_EXCLUDE_FIELDS: "contacts.phone,contacts.personInsights,owners.email,account_insights.summary",
  DUCKMIRROR_HASH_FIELDS: "contacts.email,signals.headline",
  DUCKMIRROR_HASH_KEY: KEY,
};

const anOrganizationOfPeople = () => {
  const data = anOrganization(4);
  for (const contact of data.contacts) {
    Object.assign(contact, {
      email: "shared@secret.example",
      phone: "+1 555 0199 777",
      personInsights: { likes: "tea-777" },
    });
  }
  for (const owner of data.owners) owner.email = "owner@secret.example";
  const [signal] = data.signals;
  if (signal !== undefined) signal.headline = "shared@secret.example";
  return data;
};

const bytesOf = (dir: string): string =>
  readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .map((bytes) => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString("latin1"))
    .join("\n");

const SECRETS = ["secret.example", "555 0199 777", "tea-777", "insight 1"];

test("excluded fields are not asked for and not stored, hashed ones join, and no byte on disk shows them", async () => {
  const service = createFakeService(anOrganizationOfPeople(), { maxPerPage: 10 });
  const mirror = await startSyncRig(service, RULES);
  expect((await mirror.sync()).error).toBeNull();
  const asked = service.log.find(({ path }) => path === "/v1/contacts")?.query.onlyWithFields?.split(",") ?? [];
  expect(asked).toContain("email");
  expect(asked).not.toContain("phone");
  expect(asked).not.toContain("personInsights");
  expect(service.log.find(({ path }) => path === "/v1/account-insights")?.query.sections).toBe(
    "profile,research,swotAnalysis,value",
  );
  const held = "select count(*) as n, count(phone) as p, count(person_insights) as i from contacts";
  expect(await mirror.rows(held)).toEqual([{ n: 16, p: 0, i: 0 }]);
  const joined =
    "select count(*) as n from contacts c join signals s on s.headline = c.email where c.email like 'hmac-sha256:%'";
  expect(await mirror.rows(joined)).toEqual([{ n: 16 }]);
  expect(await mirror.rows("select count(*) as n from account_insights where summary is not null")).toEqual([{ n: 0 }]);
  const bytes = bytesOf(mirror.dataDir);
  for (const secret of [...SECRETS, KEY]) expect(bytes).not.toContain(secret);
  // And it costs what it costs without rules.
  expect(await mirror.sync()).toMatchObject({ error: null, paid: 3 });
  const dump = await dumpMirror(mirror.dataDir);
  await replayOf(mirror.dataDir, { env: RULES });
  expect(await dumpMirror(mirror.dataDir)).toEqual(dump);
});

test("a service that refuses to choose fields is asked without, and they are cut out of what it sends", async () => {
  const service = createFakeService(anOrganizationOfPeople());
  service.answerWhere(({ query }) => query.onlyWithFields !== undefined, { status: 400, body: "onlyWithFields?" });
  const rig = await startSyncRig(service, RULES);
  expect((await rig.sync()).error).toBeNull();
  expect(await rig.rows("select count(*) as n, count(phone) as p from contacts")).toEqual([{ n: 16, p: 0 }]);
  const bytes = bytesOf(rig.dataDir);
  for (const secret of SECRETS) expect(bytes).not.toContain(secret);
});

test("hashed fields without a key, or with one that is too short, are refused before anything is asked", async () => {
  const service = createFakeService(anOrganization(1));
  const file = join(aFolder(), "key");
  writeFileSync(file, "short");
  const { DUCKMIRROR_HASH_KEY: _, ...keyless } = RULES;
  const mirror = await startSyncRig(service, keyless);
  const none: Record<string, string> = {};
  for (const env of [none, { DUCKMIRROR_HASH_KEY_FILE: file }, { DUCKMIRROR_HASH_KEY_FILE: `${file}.none` }]) {
    await expect(mirror.sync({}, env)).rejects.toMatchObject({ code: "CONFIG_INVALID" });
  }
  expect(service.log).toEqual([]);
});
