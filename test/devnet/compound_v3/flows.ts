import { concatHex, type Hex, pad } from 'viem'
import flows from './flows.json'

/** Topics and data of a log, and the block and act of the vectors that caused it. */
export interface FlowLog {
  readonly block: number
  readonly act: string
  readonly topics: readonly Hex[]
  readonly data: Hex
}

/** A change of a wallet's principal in a block without a log that names it. */
export interface SilentChange {
  readonly block: number
  readonly wallet: Hex
  readonly before: bigint
  readonly after: bigint
}

const toWords = (text: string) => text.split(' ').map((word) => pad(`0x${word}` as Hex, { size: 32 }))

/** Wallets of the first world whose whole lives are known; `about` of the file says how. */
export const FLOW_WALLETS = flows.wallets as readonly Hex[]

/** Their logs, in their order. */
export const FLOW_LOGS: readonly FlowLog[] = (flows.logs as [number, string, string, string, string][]).map(
  ([block, act, topic, indexed, data]) => ({
    block,
    act,
    topics: [(flows.topics as Record<string, Hex>)[topic] ?? '0x', ...toWords(indexed)],
    data: concatHex(toWords(data)),
  }),
)

/** Their changes without a log, in their order. */
export const SILENT_CHANGES: readonly SilentChange[] = (flows.silent as [number, Hex, string, string][]).map(
  ([block, wallet, before, after]) => ({ block, wallet, before: BigInt(before), after: BigInt(after) }),
)
