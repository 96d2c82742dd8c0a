// Strategy known: reads a list without order until a page holds nothing new and the counts agree. Pure. Otherwise it
// reads the whole list, which may then delete rows.
import type { MirrorFacts, PageRead, ReadRequest, Step } from "./contract.ts";
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
