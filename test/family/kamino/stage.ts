import { createSolanaClient } from '../../../src/chain/solana/client.ts'
import { createKaminoReader } from '../../../src/family/kamino/read/read.ts'
import { KAMINO_MAINNET, type KaminoMarket } from '../../../src/finance/price/table/kamino.ts'
import { type Clock, systemClock } from '../../../src/lib/clock.ts'
import { createLog } from '../../../src/lib/log.ts'
import type { SolanaDouble } from '../../support/solana.ts'

export const SLOT_MS = 400

/** A reader over doubles, with time that can be moved. */
export function readerStage(
  doubles: readonly SolanaDouble[],
  options: { readonly rows?: readonly KaminoMarket[] } = {},
) {
  const lines: string[] = []
  let passedMs = 0
  const clock: Clock = { now: systemClock.now, monotonicMs: () => systemClock.monotonicMs() + passedMs }
  const log = createLog({ level: 'debug', write: (line) => lines.push(line) })
  const rpcUrls = doubles.map(({ url }) => url)
  const solana = createSolanaClient({ rpcUrls, maxSlotAgeSec: 60, slotMs: SLOT_MS, clock, log, random: () => 0 })
  const reader = createKaminoReader({ solana, program: KAMINO_MAINNET, rows: options.rows ?? [], clock, log })
  return {
    lines,
    solana,
    reader,
    clock,
    log,
    /** Nothing that was read lives longer than a slot. */
    pass(ms = SLOT_MS) {
      passedMs += ms
    },
    wallet: (wallet: string, market?: string) => reader.readWallet({ wallet, market }, new AbortController().signal),
  }
}
