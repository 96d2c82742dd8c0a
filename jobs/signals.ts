// Job signals: mirrors the signals and their counts.
import { familyJob } from "./family.ts";

export const signalsJob = familyJob("signals", ["signals", "signal_counts"]);
