// The changing service in a process of its own, so that its processor time and memory are not those of the mirror.
// Run by bench/years.ts: <accounts> <signals> <start, ms>. Sends its address, then answers each `change` when it is made.
import { z } from "zod";
import { startChangingService } from "./changing-service.ts";

const [accounts, signals, start] = z
  .tuple([z.coerce.number(), z.coerce.number(), z.coerce.number()])
  .parse(process.argv.slice(2));
const change = z.object({ share: z.number(), now: z.number() });

const service = await startChangingService({ accounts, signals }, start);
process.on("message", (message) => {
  const { share, now } = change.parse(message);
  service.change(share, now);
  process.send?.({ changed: now });
});
process.on("disconnect", () => process.exit());
process.send?.({ url: service.url });
