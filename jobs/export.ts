// Job export: brings an export folder up to date with the published snapshot (`exportJob`), or every configured one, for which a mirror with a
// home first fetches its newest snapshot (`exportAll`). Spends no credit, and does not take the lock of the working file.
import { systemClock } from "../src/core/clock.ts";
import type { Config } from "../src/core/config/config.ts";
import { exportDir, snapshotPath } from "../src/core/data-dir.ts";
import { assertOwnFolder } from "../src/core/files/own-files.ts";
import { inSpan, noTracer, type Tracer } from "../src/core/tracing.ts";
import { type ExportReport, exportSnapshot } from "../src/warehouse/export/export.ts";
import { rememberExport } from "../src/warehouse/export/manifest.ts";
import { EXPORT_FORMATS, type ExportFormat } from "../src/warehouse/export/tables.ts";
import { followHome } from "./home.ts";

/** Request of one export. */
export interface ExportJobRequest {
  /** Absolute path; null: in the data directory. */
  readonly dir: string | null;
  readonly format: ExportFormat;
  /** Names, or `main`, `history`, `marts`; empty: the tables of main and those in the folder. */
  readonly tables: readonly string[];
  /** Only rows that changed after this time, ms since the epoch; null: all. */
  readonly since: number | null;
  readonly guardFormulas: boolean;
}

/** Exports. Throws SNAPSHOT_MISSING, EXPORT_FOLDER, WRITER_BUSY, USAGE, DATA_DIR_UNWRITABLE, DISK_FULL. */
export const exportJob = async (
  config: Config,
  request: ExportJobRequest,
  context: { readonly signal: AbortSignal; readonly tracer?: Tracer },
): Promise<ExportReport> => {
  const { tables, since, guardFormulas, format } = request;
  const dir = request.dir ?? exportDir(config.dataDir, format);
  // The user did not name this folder; a link in its place would publish rows elsewhere.
  if (request.dir === null) assertOwnFolder(dir);
  const exporting = { snapshot: snapshotPath(config.dataDir), dir, format, tables, since, guardFormulas };
  // Before the first row is there: `forget` must know the folder, also after a kill.
  const onAccepted = () => rememberExport(config.dataDir, dir);
  return inSpan(
    context.tracer ?? noTracer,
    "export",
    async (span) => {
      const written = await exportSnapshot({ ...exporting, memory: config.memory, signal: context.signal, onAccepted });
      span.set({
        "duckmirror.export.files": written.written,
        "duckmirror.export.files_kept": written.kept,
        "duckmirror.export.bytes": written.bytesWritten,
      });
      return written;
    },
    { attributes: { "duckmirror.profile": config.profile, "duckmirror.export.format": format } },
  );
};

/** Brings every export folder of a profile up to date with the snapshot; returns the formats. Throws as `exportJob`. */
export const exportAll = async (profile: Config, signal: AbortSignal): Promise<readonly string[]> => {
  const formats = EXPORT_FORMATS.filter((format) => profile.exportFormats.includes(format));
  if (formats.length > 0) await followHome(profile, systemClock);
  for (const format of formats) {
    const guardFormulas = format === "csv" && profile.exportGuardFormulas;
    await exportJob(profile, { dir: null, format, tables: [], since: null, guardFormulas }, { signal });
  }
  return formats;
};
