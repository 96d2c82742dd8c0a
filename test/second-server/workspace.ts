// What the routes of one service share: its traits, records, credits, tier and request history.
import type { Credits } from "./credits.ts";
import type { Traits } from "./traits.ts";
import type { Row, World } from "./world.ts";

export interface Workspace {
  readonly traits: Traits;
  readonly world: World;
  readonly credits: Credits;
  /** The organization's own request history, oldest first. */
  readonly history: Row[];
  /** Ms since the epoch by the service's clock. */
  now(): number;
  tier(): "full" | "public";
}
