// Times without a zone are UTC, wherever the program runs: what columns hold and what planning compares is one instant.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aCompany, anAccount, aSignal } from "../../support/fake-data.ts";
import { createFakeService, emptyData } from "../../support/fake-service.ts";
import { startMemoryRig } from "../../support/memory-rig.ts";

const own = process.env.TZ;
afterEach(() => {
  if (own === undefined) delete process.env.TZ;
  else process.env.TZ = own;
});

/** A mirror of signals whose times are written as `form` says; `asked`: how many signals one more sync asks for by id. */
const mirrored = async (form: (day: number) => string) => {
  const data = emptyData();
  data.accounts.push(anAccount(1));
  data.companies.push(aCompany("c_1"));
  for (let id = 1; id <= 12; id++) {
    const at = form(id);
    data.signals.push(aSignal(id, { date: at, createdAt: at, updatedAt: at, fullContent: `Text ${id}` }));
  }
  const env = { DUCKMIRROR_CONTENT: "fullContent", DUCKMIRROR_STREAMS: "accounts,signals" };
  const rig = await startMemoryRig(createFakeService(data), env);
  await rig.sync();
  const asked = async () => (await rig.sync()).sent.filter(({ path }) => path.startsWith("/v1/signals/")).length;
  return { ...rig, data, asked };
};

const two = (day: number) => String(day).padStart(2, "0");
/** Every form at once, one after the other. */
const forms: readonly ((day: number) => string)[] = [
  (day) => `2026-03-${two(day)}T01:30:00`,
  (day) => `2026-03-${two(day)} 01:30:00.250`,
  (day) => `2026-03-${two(day)}T01:30:00.123456`,
  (day) => `2026-03-${two(day)}T01:30:00.123456789Z`,
  (day) => `2026-03-${two(day)}`,
  () => "2026-03",
  (day) => `2026-03-${two(day)}T01:30:00+05:30`,
  (day) => `${day} March 2026`,
];
const anyForm = (day: number) => forms[day % forms.length]?.(day) ?? "";

// The night of 8 March 2026 has no 02:30 in New York.
describe.each(["America/New_York", "Asia/Kolkata", "UTC"])("on a machine in %s", (zone) => {
  beforeEach(() => {
    process.env.TZ = zone;
    expect(new Date(2026, 0, 1).getTimezoneOffset()).toBe({ "America/New_York": 300, "Asia/Kolkata": -330 }[zone] ?? 0);
  });

  test.each([
    ["without a zone", forms[0] ?? anyForm],
    ["in every form", anyForm],
  ])("contents of signals with times %s are paid for once", async (_, form) => {
    const { rows, asked } = await mirrored(form);
    expect(rows("signals", "full_content").filter(({ full_content: text }) => text !== null)).toHaveLength(12);
    expect([await asked(), await asked()]).toEqual([0, 0]);
  });
});

test("a signal whose updatedAt is set back is paid for once more, not at every sync", async () => {
  const { data, sync, query, asked } = await mirrored((day) => `2026-03-${two(day)}T00:00:00Z`);
  Object.assign(data.signals[0] ?? {}, { updatedAt: "2025-01-01T00:00:00Z", headline: "Corrected" });
  await sync({ full: true });
  expect(await asked()).toBe(0);
  expect(await query("select headline from signals where id = 1")).toEqual([{ headline: "Corrected" }]);
});
