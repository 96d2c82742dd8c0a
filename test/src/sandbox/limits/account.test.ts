// Credits while requests are under way.
import { expect, test } from "vitest";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { openAccount } from "../../../../src/sandbox/limits/account.ts";
import { openCredits } from "../../../../src/sandbox/limits/credits.ts";

const anAccount = (credits: number) => {
  const clock = createManualClock(0);
  const account = openAccount(openCredits(0, credits), credits, clock);
  const accept = () => {
    const charge = account.accept();
    if (charge === null) throw new Error("no credit is left");
    return charge;
  };
  return { account, accept, clock };
};

test("no more requests are accepted at once than credits are left, and one that failed gives its place back", () => {
  const { account, accept } = anAccount(2);
  const failing = accept();
  accept();
  expect(account.accept()).toBeNull();
  expect(account.quota()).toMatchObject({ used: 0, remaining: 2 });
  account.settle(failing, 404);
  expect(account.accept()).not.toBeNull();
});

test("a 200 costs one credit, also when it was charged before it was answered", () => {
  const { account, accept } = anAccount(5);
  const early = accept();
  account.spend(early);
  account.settle(early, 200);
  account.settle(accept(), 200);
  expect(account.quota()).toMatchObject({ used: 2, remaining: 3 });
});

test("a charge is refunded when the request ends in another status after all", () => {
  const { account, accept } = anAccount(1);
  const charge = accept();
  account.spend(charge);
  expect(account.accept()).toBeNull();
  account.settle(charge, 503);
  expect(account.quota()).toMatchObject({ used: 0, remaining: 1 });
  expect(account.accept()).not.toBeNull();
});

test("a new month's credits are there without a request", async () => {
  const { account, accept, clock } = anAccount(1);
  account.settle(accept(), 200);
  await clock.advance(31 * 86_400_000);
  expect(account.quota()).toMatchObject({ used: 0, remaining: 1 });
});
