// The tools of an assistant that spend credits, within its purse: lookup and sync. They exist only where there is a purse.
import type { McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { TABLE_NAMES } from "../catalog/tables.ts";
import type { Bought, MirrorDoor } from "./door.ts";
import { answerOf, failureOf } from "./door.ts";
import { provenanceOf, readTableStates } from "./provenance.ts";
import type { Purse } from "./purse.ts";

const SPENDS = { readOnlyHint: false, destructiveHint: false, openWorldHint: true } as const;

/** Buys within the purse. An empty purse is an answer, not an error. */
const bought = async (
  door: MirrorDoor,
  purse: Purse,
  price: { readonly least: number; readonly most: number },
  buy: (credits: number) => Promise<Bought>,
) => {
  try {
    const result = await purse.spend(price, buy);
    const states = await door.read(readTableStates).catch(() => []);
    const provenance = provenanceOf(states, TABLE_NAMES);
    if (result === null) {
      const left = await purse.left();
      const reason = `This costs ${price.least === price.most ? price.least : `${price.least} to ${price.most}`} credit(s); the purse holds ${left}.`;
      return answerOf({ ...provenance, status: "out_of_purse", reason, credits: 0, purse_left: left }, false);
    }
    return answerOf({ ...provenance, ...result.value, credits: result.credits, purse_left: await purse.left() });
  } catch (error) {
    return failureOf(error);
  }
};

/** Registers the tools that spend. */
export const addPurseTools = (server: McpServer, door: MirrorDoor, purse: Purse): void => {
  server.registerTool(
    "lookup",
    {
      description:
        "One company (by id, domain, website, stock symbol or profile address) or account (by name or domain): free from the mirror if it is fresh enough, else 1 credit.",
      inputSchema: z.object({ kind: z.enum(["company", "account"]), input: z.string().min(1).max(2_000) }),
      annotations: SPENDS,
    },
    async ({ kind, input }) => {
      const question = { kind, input };
      try {
        const known = await door.known(question);
        if (known !== null) {
          const states = await door.read(readTableStates).catch(() => []);
          return answerOf({
            ...provenanceOf(states, TABLE_NAMES),
            ...known.value,
            credits: 0,
            purse_left: await purse.left(),
          });
        }
      } catch (error) {
        return failureOf(error);
      }
      return bought(door, purse, { least: 1, most: 1 }, () => door.lookup(question));
    },
  );
  server.registerTool(
    "sync",
    {
      description:
        "Mirrors what is due, for at most `max_credits` and at most what the purse holds. Call `plan` first: it names the price.",
      inputSchema: z.object({
        streams: z.array(z.string()).default([]),
        max_credits: z.int().min(1).max(1_000_000).describe("most credits that this sync may spend"),
      }),
      annotations: SPENDS,
    },
    ({ streams, max_credits }) =>
      bought(door, purse, { least: 1, most: max_credits }, (credits) => door.sync(streams, credits)),
  );
};
