// Buttons that download a whole result as a file, however many rows it has; the server writes it.
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, counted } from "../format.ts";
import { profileMember, Refused, sendForFile } from "../wire.ts";

const FORMATS = [
  ["csv", "CSV"],
  ["json", "JSON"],
  ["parquet", "Parquet"],
] as const;

/** Hands a file to the browser. */
const saveFile = (name: string, content: Blob): void => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};

/** `name`: of the file, without its ending. */
export const Downloads = ({ sql, name }: { sql: string; name: string }) => {
  const [state, setState] = useState("");
  const [isBusy, setBusy] = useState(false);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  useEffect(() => setState(""), [sql]);
  const load = async (format: string) => {
    setBusy(true);
    setState("Preparing the file …");
    try {
      const body = { sql, format, ...profileMember() };
      const { file, rows } = await sendForFile("/api/download", body, leaving.current.signal);
      saveFile(`${name}.${format}`, file);
      setState(`${counted(rows, "row")}, ${bytes(file.size)}.`);
    } catch (error) {
      setState(error instanceof Refused ? `${error.message} ${error.hint}` : `The download failed: ${String(error)}`);
    }
    setBusy(false);
  };
  return (
    <span class="buttons" role="group" aria-label="Download every row">
      {FORMATS.map(([format, title]) => (
        <button type="button" key={format} disabled={isBusy} onClick={() => void load(format)}>
          {title}
        </button>
      ))}
      <span class="hint" role="status">
        {state}
      </span>
    </span>
  );
};
