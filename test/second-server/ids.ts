// Ids of a service: numbers that grow or do not, beyond 2^53 or not, and texts with any character.
import type { Json } from "./json-text.ts";
import type { Chance } from "./random.ts";
import type { Traits } from "./traits.ts";

const ODD = ["a/b", "50%", "q?x=1", "x#y", "sp ace", "plus+", "ünï", "🦆", "semi;colon", "quo'te", 'dou"ble', "a&b=c"];
const BIG = 9_007_199_254_740_993n;

export interface Ids {
  /** An id as the service writes it. */
  number(purpose: string): Json;
  text(purpose: string): string;
}

export const createIds = ({ records }: Traits, chance: Chance): Ids => {
  const given = new Set<string>();
  const latest = new Map<string, bigint>();
  const fresh = <T>(draw: () => T, nameOf: (id: T) => string): T => {
    for (;;) {
      const id = draw();
      if (given.has(nameOf(id))) continue;
      given.add(nameOf(id));
      return id;
    }
  };
  const first = records.bigIds ? BIG : 1000n;
  return {
    number: (purpose) => {
      const id = fresh(
        () => {
          if (!records.idsGrow) return first + BigInt(chance.int(0, 900_000));
          const next = (latest.get(purpose) ?? first) + BigInt(chance.int(1, 3));
          latest.set(purpose, next);
          return next;
        },
        (drawn) => `${purpose}/${drawn}`,
      );
      const plain = records.bigIds ? id : Number(id);
      return chance.often(records.numbersAsText / 3) ? String(id) : plain;
    },
    text: (purpose) =>
      fresh(
        () => {
          const tail = chance.int(0, 0xffff_ffff).toString(36);
          const next = Number(latest.get(purpose) ?? 0n) + 1;
          latest.set(purpose, BigInt(next));
          const odd = records.oddIds && chance.often(0.3) ? chance.pick(["a/b", ...ODD]) : "";
          return records.idsGrow ? `${purpose}_${String(next).padStart(6, "0")}${odd}` : `${tail}${odd}`;
        },
        (drawn) => `${purpose}/${drawn}`,
      ),
  };
};
