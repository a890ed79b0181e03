import { createSolanaClient } from '../../../src/chain/solana/client.ts'
import { createKaminoReader } from '../../../src/family/kamino/read/read.ts'
import { createOrcaReader } from '../../../src/family/orca_whirlpool/read/read.ts'
import { WHIRLPOOL_PROGRAMS } from '../../../src/family/orca_whirlpool/table.ts'
import { KAMINO_MAIN, KAMINO_MAINNET } from '../../../src/finance/price/table/kamino.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { systemClock } from '../../../src/lib/clock.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createAccountAssetReader } from '../../../src/portfolio/read/read_accounts.ts'
import { MARKET, SOL, USDC } from '../../support/kamino_scene.ts'

const SLOT_MS = 400

/** A caller who never leaves. */
export const SIGNAL = createWork(new AbortController().signal)

/** Readers that have read nothing yet, with time that can be moved on by a slot. */
export function solanaReaders(url: string) {
  let passedMs = 0
  const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + passedMs }
  const solana = createSolanaClient({ rpcUrls: [url], maxSlotAgeSec: 60, slotMs: SLOT_MS, clock, log: silentLog })
  const rows = [{ market: MARKET, reserves: [SOL, USDC] }]
  const priceMarket = { market: KAMINO_MAIN, kamino: KAMINO_MAINNET }
  const kamino = createKaminoReader({ solana, program: KAMINO_MAINNET, rows, clock, log: silentLog })
  const orca = createOrcaReader({ solana, programs: WHIRLPOOL_PROGRAMS, ...priceMarket, clock })
  const families = [
    { name: 'kamino', reader: kamino.holdings },
    { name: 'orca-whirlpool', reader: orca.holdings },
  ]
  return {
    kamino,
    orca,
    portfolio: createAccountAssetReader({ solana, families, priceMarket, clock }),
    pass() {
      passedMs += SLOT_MS
    },
  }
}
