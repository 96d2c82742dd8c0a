// Strategy known, for a list without order: reads pages until one holds nothing new, and ends there if the counts agree.
// If they never agree, it reads the whole list, as a walk, which may delete rows. Pure.
import type { MirrorFacts, PageRead, ReadRequest, Step } from "../coverage/contract.ts";
import { acceptWalk, nextWalk, startWalk, type WalkState } from "./walk.ts";

export interface KnownState {
  readonly kind: "known";
  readonly walk: WalkState;
}

export const startKnown = (options: { size: number }): KnownState => ({
  kind: "known",
  walk: startWalk({ size: options.size, overlap: true, proof: "identity" }),
});

export const acceptKnown = (state: KnownState, read: PageRead): KnownState => ({
  ...state,
  walk: acceptWalk(state.walk, read),
});

export const nextKnown = (state: KnownState, facts: MirrorFacts, inFlight: readonly ReadRequest[]): Step => {
  const { coverage } = state.walk;
  if (inFlight.length > 0) return { kind: "wait" };
  const nothingNew = facts.last !== null && facts.last.inserted === 0 && facts.last.updated === 0;
  const agrees = coverage.total !== null && coverage.total - facts.rows === facts.acceptedGap;
  if (!coverage.complete && coverage.end > 0 && coverage.bridgeAt === null && nothingNew && agrees) {
    return { kind: "done", addsUp: false, whole: false, because: "a page held nothing new, counts agree" };
  }
  return nextWalk(state.walk, facts, inFlight, 1);
};
