// Settings about the audit trail: who did what, when (docs/AUDIT.md).
import { retentionDays, yesNo } from "./setting-parsers.ts";

export const auditSettings = {
  audit_enabled: yesNo.prefault(true).meta({
    description: "Write the audit trail: queries, syncs, erasures, keys and refused logins, without values of records.",
  }),
  audit_retention_days: retentionDays
    .prefault("90")
    .meta({ description: "Days a line stays in the audit trail; keep: for ever." }),
  audit_required: yesNo
    .prefault(false)
    .meta({ description: "Refuse an action that the audit trail cannot record; off: warn once and go on." }),
};
