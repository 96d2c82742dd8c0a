// Loaded into a process with `--import`: its clock is wrong by SHIFT_MS.
const shiftMs = Number(process.env.SHIFT_MS ?? 0);
const now = Date.now.bind(Date);
const Shifted = class extends Date {
  constructor(...values) {
    if (values.length === 0) super(now() + shiftMs);
    else super(...values);
  }
  static now() {
    return now() + shiftMs;
  }
};
globalThis.Date = Shifted;
