import { UpstreamError } from '../../lib/error.ts'
import type { SolanaAccount } from './accounts.ts'

/** The account of the cluster's clock: slot and Unix time, written at the start of every slot. */
export const CLOCK_ADDRESS = 'SysvarC1ock11111111111111111111111111111111'

const CLOCK_OWNER = 'Sysvar1111111111111111111111111111111111111'
/** Minimum size; later runtimes may append fields. */
const CLOCK_BYTES = 40
const EPOCH_AT = 16
const TIMESTAMP_AT = 32
/**
 * Maximum distance of the clock's slot from the slot of the answer. In one state of a cluster they are equal, but
 * answers of providers that cache accounts may combine the slot of one moment with the clock of another.
 */
const SLOTS_APART_MAX = 32n

/** A slot and its time, by the cluster's clock. */
export interface SolanaClock {
  readonly slot: bigint
  /** Unix seconds: the validators' clocks, weighted by stake, which makes it some seconds late. */
  readonly timestampSec: bigint
  /** About two days of slots; changes that take effect in an epoch do so at its first slot. */
  readonly epoch: bigint
}

/** Parses the clock's account. Throws `UpstreamError` for another account, or for a time before 1970. */
export function parseClock(account: SolanaAccount | null | undefined): SolanaClock {
  if (account?.owner !== CLOCK_OWNER || account.data.length < CLOCK_BYTES) {
    throw new UpstreamError("Expected the cluster's clock")
  }
  const { buffer, byteOffset, byteLength } = account.data
  const view = new DataView(buffer, byteOffset, byteLength)
  const timestampSec = view.getBigInt64(TIMESTAMP_AT, true)
  if (timestampSec < 0n) throw new UpstreamError("Expected the cluster's clock")
  return { slot: view.getBigUint64(0, true), timestampSec, epoch: view.getBigUint64(EPOCH_AT, true) }
}

/**
 * Throws `UpstreamError` if the clock does not match the answer's slot, or if it is further from the wall clock than
 * `maxAgeSec` in either direction: a node that has stopped following the cluster keeps answering with old state.
 */
export function checkClock(
  clock: SolanaClock,
  { slot, nowMs, maxAgeSec }: { readonly slot: bigint; readonly nowMs: number; readonly maxAgeSec: number },
): void {
  const apart = clock.slot > slot ? clock.slot - slot : slot - clock.slot
  if (apart > SLOTS_APART_MAX) throw new UpstreamError("The cluster's clock is that of another slot")
  const ageSec = Math.floor(nowMs / 1000) - Number(clock.timestampSec)
  if (ageSec > maxAgeSec) throw new UpstreamError(`The endpoint is ${ageSec} s behind the wall clock`)
  if (-ageSec > maxAgeSec) throw new UpstreamError(`The endpoint is ${-ageSec} s ahead of the wall clock`)
}
