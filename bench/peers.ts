// Case peers: duckmirror beside dlt, a Singer tap and a plain script, on the same service with the same rows, in one run
// (docs/PEERS.md). The service is a process of its own and answers from memory; clients run as processes, start included.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atLeast, atMost, type BenchCase, type Figure, median } from "./case.ts";
import { type Client, clientsOf } from "./peer-clients.ts";
import { startPeerService, type WhichLists } from "./peer-control.ts";
import {
  atARate,
  crash,
  type Field,
  type First,
  firstMirror,
  lowerBound,
  movingLists,
  upkeep,
} from "./peer-measures.ts";
import { peerEnvironments } from "./peer-setup.ts";

const ROUNDS = 3;
const SEED = 10;
const PER_PAGE = 100;
const CHANGED = 0.01;
const PER_MINUTE = 300;
const RATE_MS = 75_000;
/** Accounts of the service for each question. */
const SIZES = { organization: 800, moving: 250, all: 120 } as const;

type Clients = ReturnType<typeof clientsOf>;
type Say = (text: string) => void;

const plain = (measure: string, value: string): Figure => ({ measure, value, aim: "", reached: null });
const perClient = <T>(results: ReadonlyMap<string, T>, show: (result: T) => string | number): string =>
  [...results].map(([name, result]) => `${name} ${show(result)}`).join(" · ");
const times = (n: number) => `${n.toFixed(n < 10 ? 2 : 1)} ×`;
const spread = (ratios: readonly number[]): string =>
  `${times(median(ratios))} (${times(Math.min(...ratios))} to ${times(Math.max(...ratios))})`;

const collect = async <T>(clients: readonly Client[], say: Say, measure: (client: Client) => Promise<T>) => {
  const results = new Map<string, T>();
  for (const client of clients) {
    say(client.name);
    results.set(client.name, await measure(client));
  }
  return results;
};

/** Rounds in which every client has its turn, the order rotating. */
const race = async (field: Field, clients: readonly Client[], say: Say) => {
  const rounds: ReadonlyMap<string, First>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const order = clients
      .map((_, index) => clients[(index + round) % clients.length])
      .filter((one) => one !== undefined);
    rounds.push(
      await collect(
        order,
        (name) => say(`first mirror ${round + 1}, ${name}`),
        (client) => firstMirror(field, client),
      ),
    );
  }
  const ratios = (peer: Client, of: (first: First) => number) =>
    rounds.flatMap((round) => {
      const [own, other] = [round.get(clients[0]?.name ?? ""), round.get(peer.name)];
      return own === undefined || other === undefined ? [] : [of(other) / of(own)];
    });
  return { first: rounds[0] ?? new Map<string, First>(), ratios };
};

const speed = async (field: Field, clients: Clients, say: Say) => {
  const peers = [clients.dlt, clients.dltDefaults, clients.singer, clients.script];
  const source = await field.service.rows();
  const rows = [...source.values()].reduce((sum, list) => sum + list.size, 0);
  const bound = lowerBound(source, field.perPage);
  const { first, ratios } = await race(field, [clients.duckmirror, ...peers], say);
  const what = `${field.lists === "all" ? "every list" : "organization lists"}, ${rows} rows, ${bound} pages`;
  const figures = peers.flatMap((peer): Figure[] => {
    const wall = ratios(peer, ({ seconds }) => seconds);
    const cpu = ratios(peer, ({ cpuSeconds }) => cpuSeconds);
    const measure = `${what}: rows/s of duckmirror, of ${peer.name}`;
    const aim =
      peer === clients.dlt || peer === clients.dltDefaults
        ? atLeast(measure, median(wall), 10, " ×")
        : plain(measure, "");
    return [
      { ...aim, value: spread(wall) },
      plain(`${what}: rows per second of processor time, of ${peer.name}`, spread(cpu)),
    ];
  });
  const own = first.get(clients.duckmirror.name)?.credits ?? Number.NaN;
  return {
    whole: own,
    figures: [
      ...figures,
      atMost(`${what}: credits of duckmirror, of the fewest`, own / bound, 1.02, " ×", 3),
      plain(
        `${what}: credits of the others, of the fewest`,
        perClient(first, ({ credits }) => (credits / bound).toFixed(3)),
      ),
    ],
  };
};

const maintenance = async (field: Field, clients: readonly Client[], say: Say): Promise<Figure[]> => {
  const results = await collect(
    clients,
    (name) => say(`upkeep, ${name}`),
    (client) => upkeep(field, client, CHANGED),
  );
  const left = ({ missing, stale }: { missing: number; stale: number }) => missing + stale;
  return [
    plain(
      "every list: credits of a sync after which nothing changed",
      perClient(results, ({ unchanged }) => unchanged),
    ),
    plain(
      `every list: credits of a sync after ${CHANGED * 100}% changed`,
      perClient(results, ({ changed }) => changed),
    ),
    plain(
      "every list: changes it did not bring",
      perClient(results, ({ result }) => left(result)),
    ),
  ];
};

const movement = async (field: Field, clients: readonly Client[], say: Say): Promise<Figure[]> => {
  const results = await collect(
    clients,
    (name) => say(`moving lists, ${name}`),
    (client) => movingLists(field, client),
  );
  const own = results.get("duckmirror");
  const wrong =
    own === undefined ? Number.NaN : own.lost + own.doubled + own.next.missing + own.next.doubled + own.next.gone;
  return [
    plain(
      "lists that move while they are read: rows lost in a first mirror",
      perClient(results, ({ lost }) => lost),
    ),
    plain(
      "lists that move while they are read: rows doubled",
      perClient(results, ({ doubled }) => doubled),
    ),
    plain(
      "then no more changes, one more sync: rows still missing",
      perClient(results, ({ next }) => next.missing),
    ),
    plain(
      "then no more changes, one more sync: rows that should be gone",
      perClient(results, ({ next }) => next.gone),
    ),
    plain(
      "then no more changes, one more sync: rows in an old version",
      perClient(results, ({ next }) => next.stale),
    ),
    plain(
      "lists that moved: credits of both syncs",
      perClient(results, ({ credits, nextCredits }) => `${credits} + ${nextCredits}`),
    ),
    atMost("rows that duckmirror lost, doubled or kept too long", wrong, 0, "", 0),
  ];
};

const crashes = async (field: Field, clients: readonly Client[], whole: number, say: Say): Promise<Figure[]> => {
  const results = await collect(
    clients,
    (name) => say(`kill -9, ${name}`),
    (client) => crash(field, client, whole),
  );
  const wrong = ({
    missing,
    doubled,
    stale,
    gone,
  }: {
    missing: number;
    doubled: number;
    stale: number;
    gone: number;
  }) => missing + doubled + stale + gone;
  return [
    plain(
      `kill -9 at half of ${whole} credits: credits paid twice`,
      perClient(results, ({ paidTwice }) => paidTwice),
    ),
    plain(
      "kill -9: wrong rows after the next run",
      perClient(results, ({ result }) => wrong(result)),
    ),
  ];
};

const rates = async (field: Field, clients: readonly Client[], say: Say): Promise<Figure[]> => {
  say(`${PER_MINUTE} requests a minute, all at once`);
  const results = await atARate(field, clients, PER_MINUTE, RATE_MS);
  const measure = `${PER_MINUTE} requests a minute, ${RATE_MS / 1000} s`;
  return [
    plain(
      `${measure}: answers with 429`,
      perClient(results, ({ refused, failed }) => (failed ? `${refused}, gave up` : refused)),
    ),
    plain(
      `${measure}: answers with 200`,
      perClient(results, ({ served }) => served),
    ),
  ];
};

const measured = async (clients: Clients): Promise<readonly Figure[]> => {
  const dir = await mkdtemp(join(tmpdir(), "duckmirror-bench-peers-"));
  const begun = performance.now();
  const say: Say = (text) => process.stderr.write(`  ${Math.round((performance.now() - begun) / 1000)} s: ${text}\n`);
  const { duckmirror, dlt, dltReplace, singer, script } = clients;
  const figures: Figure[] = [];
  const on = async (lists: WhichLists, accounts: number, measure: (field: Field) => Promise<readonly Figure[]>) => {
    say(`the service with ${accounts} accounts`);
    const service = await startPeerService(accounts, SEED, lists);
    try {
      figures.push(...(await measure({ service, lists, perPage: PER_PAGE, dir })));
    } finally {
      await service.close();
    }
  };
  try {
    await on("organization", SIZES.organization, async (field) => (await speed(field, clients, say)).figures);
    await on("all", SIZES.all, async (field) => {
      const first = await speed(field, clients, say);
      return [
        ...first.figures,
        ...(await maintenance(field, [duckmirror, dlt, dltReplace, singer, script], say)),
        ...(await crashes(field, [duckmirror, dlt, singer, script], first.whole, say)),
        ...(await rates(field, [duckmirror, dlt, singer, script], say)),
      ];
    });
    await on("organization", SIZES.moving, (field) =>
      movement(field, [duckmirror, dlt, dltReplace, singer, script], say),
    );
    return figures;
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
};

export const peers: BenchCase = {
  id: "peers",
  title: `duckmirror and its peers, ${PER_PAGE} rows a page, medians of ${ROUNDS} rounds in turns`,
  run: async () => {
    const environments = peerEnvironments();
    return typeof environments === "string"
      ? [plain("peers", `not measured: ${environments}`)]
      : measured(clientsOf(environments));
  },
};
