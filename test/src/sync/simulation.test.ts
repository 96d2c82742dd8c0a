// The whole sync in one process under simulated time: concurrent change, lost answers, crashes, budgets, page sizes. Shows P1 and P8.
import { expect, test } from "vitest";
import type { Client } from "../../../src/api/client.ts";
import { createLedger } from "../../../src/budget/credits/local-ledger.ts";
import { createThrottle } from "../../../src/budget/rate/throttle.ts";
import type { Clock } from "../../../src/core/clock.ts";
import { storedCursor } from "../../../src/sync/list/ways/progress.ts";
import { createLocalSender } from "../../../src/sync/request/turn.ts";
import { runSync } from "../../../src/sync/run/run-sync.ts";
import { pick, seededRandom, upTo } from "../../support/chance.ts";
import { createFakeClient, fullAccess, plainRun } from "../../support/fake-client.ts";
import { aContact, anAccount, aSignal, opaque } from "../../support/fake-data.ts";
import { createFakeService, emptyData, type FakeService, type Row } from "../../support/fake-service.ts";
import { createMemoryArchive, type MemoryArchive } from "../../support/memory-archive.ts";
import { createMemoryWarehouse, type MemoryWarehouse } from "../../support/memory-warehouse/memory-warehouse.ts";
import { simulatedClock } from "../../support/sync-rig.ts";

const SEED = Number(process.env.SIMULATION_SEED ?? 20261121);
const HISTORIES = Number(process.env.SIMULATIONS ?? 60);
const LISTS = ["accounts", "contacts", "signals"] as const;

type Random = () => number;

/** A source whose rows come, change and go; ids are never used twice. */
const createSource = (random: Random) => {
  const data = emptyData();
  let counter = 0;
  const now = () => new Date(Date.UTC(2026, 5, 1) + counter * 60_000).toISOString();
  const insert = (list: (typeof LISTS)[number]) => {
    counter += 1;
    const row: Row =
      list === "accounts"
        ? anAccount(counter, { updatedAt: now() })
        : list === "signals"
          ? aSignal(counter, { updatedAt: now() })
          : aContact(opaque(counter), { lastChangeDetectedOn: random() < 0.3 ? undefined : now() });
    data[list].push(row);
  };
  const change = () => {
    const list = pick(random, LISTS);
    const rows = data[list];
    const kind = random();
    if (kind < 0.4 || rows.length === 0) return insert(list);
    const index = Math.floor(random() * rows.length);
    if (kind < 0.75) return void rows.splice(index, 1);
    const row = rows[index];
    counter += 1;
    if (row !== undefined)
      Object.assign(
        row,
        list === "contacts"
          ? { currentTitle: `T${counter}`, lastChangeDetectedOn: now() }
          : { name: `N${counter}`, headline: `H${counter}`, updatedAt: now() },
      );
  };
  for (const list of LISTS) for (let rows = upTo(random, 45); rows > 0; rows--) insert(list);
  return { data, change };
};

interface World {
  readonly service: FakeService;
  readonly warehouse: MemoryWarehouse;
  readonly archive: MemoryArchive;
  readonly clock: Clock;
  readonly random: Random;
  readonly falseDeletes: string[];
  /** Invariants of docs/INVARIANTS.md that did not hold after some step. */
  readonly broken: string[];
  change: () => void;
  lossRate: number;
  /** Share of requests that the service refuses for a moment. */
  refusalRate: number;
  /** Requests after which the process is killed; null: never. */
  killAfter: number | null;
}

/** Waits up to `most` turns of the event loop. */
const someTurns = async (random: Random, most: number): Promise<void> => {
  for (let turns = upTo(random, most); turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
};

const createWorld = (random: Random, sort?: "obey"): World => {
  const source = createSource(random);
  const falseDeletes: string[] = [];
  const broken: string[] = [];
  const deleted = new Set<string>();
  const service = createFakeService(source.data, {
    maxPerPage: 7 + upTo(random, 13),
    overPage: pick(random, ["refuse", "clamp", "honest"] as const),
    sort: sort ?? pick(random, ["obey", "obey", "obey", "ignore", "refuse"] as const),
  });
  // Half of the histories have a disk that takes time: between page, archive and commit others get ahead.
  const disk = seededRandom(upTo(random, 1e9));
  const slowness = pick(disk, [0, 0, 2, 9]);
  const pause = () => someTurns(disk, slowness);
  const warehouse = createMemoryWarehouse({
    pause,
    onDelete: (table, id) => {
      deleted.add(`${table} ${id}`);
      const rows = LISTS.find((list) => list === table);
      if (rows !== undefined && service.data[rows].some((row) => String(row.id) === id))
        falseDeletes.push(`${table} ${id}`);
    },
    onCommit: ({ loads, scopes }, holds) => {
      for (const { requestId } of loads) if (!archive.holds(requestId)) broken.push(`I7: ${requestId} is not archived`);
      for (const { stream, cursor } of scopes) {
        const list = LISTS.find((name) => name === stream);
        const progress = storedCursor(cursor)?.progress;
        if (list === undefined || progress?.kind !== "walk") continue;
        const unwritten = progress.coverage.tail.filter((id) => !holds(list, id) && !deleted.has(`${list} ${id}`));
        if (unwritten.length > 0) broken.push(`I1: the cursor of ${list} passed ${unwritten.join(", ")}`);
      }
    },
  });
  // Where every answer in flight at a crash is lost with it, pages are paid for twice: only the first test allows that.
  const archive = createMemoryArchive(sort === undefined ? warehouse.alive : () => undefined, pause);
  const clock = simulatedClock();
  return {
    service,
    warehouse,
    archive,
    clock,
    random,
    falseDeletes,
    broken,
    change: source.change,
    lossRate: 0,
    refusalRate: 0,
    killAfter: null,
  };
};

/** One sync; answers come in a random order, some are lost, the process may die. Answers with the credits spent. */
const sync = async (world: World, more: { full?: boolean; maxCredits?: number | null } = {}) => {
  const { service, warehouse, archive, clock, random } = world;
  const before = service.spent();
  let left = world.killAfter;
  let inFlight = 0;
  const { send, close } = createFakeClient(service, clock, {
    fate: () => {
      // After every answer: nothing was charged that was not set aside before it was sent.
      const { spent, ambiguous, reserved } = ledger.snapshot();
      if (service.spent() - before > spent + ambiguous + reserved)
        world.broken.push("I4: charged without a reservation");
      if (more.maxCredits != null && spent + ambiguous + reserved > more.maxCredits)
        world.broken.push("I4: over budget");
      if (random() < world.refusalRate) return pick(random, [429, 500, 503] as const);
      return random() < world.lossRate ? "lost" : "arrives";
    },
    delay: async () => {
      await someTurns(random, 3);
      if (left !== null && left-- <= 0) warehouse.kill();
    },
  });
  const client: Client = {
    send: async (...call) => {
      inFlight += 1;
      return send(...call).finally(() => {
        inFlight -= 1;
      });
    },
    close,
  };
  const ledger = createLedger({ clock, maxCredits: more.maxCredits ?? null });
  const throttle = createThrottle({ clock, configured: 1_000_000 });
  const sender = createLocalSender({ client, throttle, credits: null });
  const signal = new AbortController().signal;
  const run = runSync(plainRun(LISTS, { full: more.full ?? false }), {
    warehouse,
    archive,
    sender,
    // Contacts without an account are possible here; an empty account list would be taken for a lower tier.
    tier: fullAccess,
    ledger,
    clock,
    random,
    emit: () => undefined,
    signal,
    hardSignal: signal,
  });
  const result = await run.catch((error: unknown) => {
    if (error instanceof Error && error.message === "killed") return null;
    throw error;
  });
  // A killed process's requests arrive before the next process starts, which they would kill and charge otherwise.
  while (inFlight > 0) await new Promise((resolve) => setImmediate(resolve));
  warehouse.revive();
  return { result, spent: service.spent() - before };
};

const difference = (world: World): readonly string[] =>
  LISTS.flatMap((list) => {
    const mirrored = new Set(world.warehouse.ids(list));
    const there = new Set(world.service.data[list].map((row) => String(row.id)));
    return [
      ...[...there].filter((id) => !mirrored.has(id)).map((id) => `${list} ${id} is not mirrored`),
      ...[...mirrored].filter((id) => !there.has(id)).map((id) => `${list} ${id} is gone`),
    ];
  });

const moveWhileRead = (world: World, perRequest: number) => {
  const { service, random } = world;
  service.answerInstead(() => {
    for (let changes = upTo(random, perRequest); changes > 0; changes--) world.change();
    return undefined;
  });
};
const offerList = (world: World) => {
  service(world).options = { ...service(world).options, before: () => undefined };
  world.lossRate = 0;
  world.refusalRate = 0;
  world.killAfter = null;
};
const service = (world: World) => world.service;

test(`after ${HISTORIES} random histories the mirror equals the source once it stops changing, within budget and without a false delete (seed ${SEED})`, async () => {
  const failures: string[] = [];
  for (let history = 0; history < HISTORIES; history++) {
    const random = seededRandom(SEED + history);
    const world = createWorld(random);
    for (let rounds = 1 + upTo(random, 3); rounds > 0; rounds--) {
      const maxCredits = random() < 0.4 ? upTo(random, 8) : null;
      world.lossRate = random() < 0.3 ? 0.1 : 0;
      world.refusalRate = random() < 0.3 ? 0.15 : 0;
      world.killAfter = random() < 0.4 ? upTo(random, 12) : null;
      moveWhileRead(world, upTo(random, 3));
      const { spent } = await sync(world, { full: random() < 0.2, maxCredits });
      if (maxCredits !== null && spent > maxCredits)
        failures.push(`history ${history}: spent ${spent} of ${maxCredits}`);
    }
    offerList(world);
    await sync(world);
    // A full sync of an unchanged source proves every list: none is left open.
    const last = await sync(world, { full: true });
    const open = last.result?.report.streams.filter(({ complete }) => !complete) ?? [];
    failures.push(...open.map(({ stream, reason: why }) => `history ${history}: ${stream} is open: ${why}`));
    const found = difference(world);
    if (found.length > 0) failures.push(`history ${history}: ${found.slice(0, 3).join("; ")}`);
    if (world.broken.length > 0)
      failures.push(`history ${history}: ${[...new Set(world.broken)].slice(0, 3).join("; ")}`);
    if (world.falseDeletes.length > 0)
      failures.push(`history ${history}: false deletes ${world.falseDeletes.slice(0, 3).join(", ")}`);
  }
  expect(failures).toEqual([]);
}, 600_000);

test(`while the source is unchanged no page that was paid for is fetched again, whatever interrupts the first mirror (seed ${SEED})`, async () => {
  const failures: string[] = [];
  for (let history = 0; history < HISTORIES / 4; history++) {
    const random = seededRandom(SEED + 100_000 + history);
    const world = createWorld(random, "obey");
    for (let rounds = upTo(random, 4); rounds > 0; rounds--) {
      world.killAfter = random() < 0.5 ? upTo(random, 10) : null;
      await sync(world, { maxCredits: random() < 0.5 ? upTo(random, 6) : null });
    }
    world.killAfter = null;
    await sync(world);
    // Looks for changes are made by change date; every page of a walk is by id.
    const walked = world.service.log.filter((entry) => entry.status === 200 && entry.query.sortBy === "id");
    const urls = walked.map((entry) => `${entry.path}?${new URLSearchParams(entry.query)}`);
    const repeated = urls.filter((url, index) => urls.indexOf(url) !== index);
    if (repeated.length > 0) failures.push(`history ${history}: ${repeated.join(", ")}`);
    const found = difference(world);
    if (found.length > 0) failures.push(`history ${history}: ${found.slice(0, 3).join("; ")}`);
  }
  expect(failures).toEqual([]);
}, 600_000);

test(`a seed replays exactly: the same requests in the same order (seed ${SEED})`, async () => {
  const play = async (history: number) => {
    const random = seededRandom(SEED + history);
    const world = createWorld(random);
    world.lossRate = 0.1;
    world.refusalRate = 0.1;
    world.killAfter = 9;
    moveWhileRead(world, 3);
    await sync(world);
    offerList(world);
    await sync(world);
    return world.service.log.map(({ path, query, status }) => `${status} ${path}?${new URLSearchParams(query)}`);
  };
  for (let history = 0; history < 20; history++) {
    const first = await play(history);
    expect(first.length).toBeGreaterThan(3);
    expect(await play(history)).toEqual(first);
  }
});
