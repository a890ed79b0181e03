/** Loaded before the service: its wall clock is off by `BENCH_SHIFT_MS`, its timers and its monotonic time are not. */
const shiftMs = Number(process.env['BENCH_SHIFT_MS'])
const RealDate = Date

class ShiftedDate extends RealDate {
  constructor(...parts: readonly unknown[]) {
    if (parts.length === 0) super(ShiftedDate.now())
    else super(...(parts as [number]))
  }

  static override now(): number {
    return RealDate.now() + shiftMs
  }
}

globalThis.Date = ShiftedDate as DateConstructor
