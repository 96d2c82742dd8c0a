// Setting `rate_limit`.
import { expect, test } from "vitest";
import { PLAN_RATES, rateLimit } from "../../../../../src/core/config/planning/rate-setting.ts";

const meant = (value: string | number) => rateLimit.safeParse(value);

test("a plan's name stands for its requests per minute, in any case; auto and enterprise for what the service grants", () => {
  for (const [name, rate] of Object.entries(PLAN_RATES)) expect(meant(name.toUpperCase()).data).toBe(rate);
  for (const name of ["auto", " Enterprise "]) expect(meant(name)).toMatchObject({ success: true, data: null });
});

test("requests per minute may be a fraction, above zero and up to a million", () => {
  expect([meant("0.5").data, meant(90).data, meant("1000000").data]).toEqual([0.5, 90, 1_000_000]);
  for (const value of ["0", "-1", "1e3", "1000001", "", "ten"]) expect(meant(value).success, value).toBe(false);
});

test("a misspelt plan gets the likely name", () => {
  expect(meant("sacle").error?.issues[0]?.message).toContain("Did you mean scale?");
});
