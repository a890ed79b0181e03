import type { Clock } from '../../../../lib/clock.ts'
import { createRecent } from '../../../../lib/recent.ts'
import type { FoundObligations } from './found.ts'

/** How long a wallet's obligations are not looked for again by a batch, so that one that was late gets further. */
const LATELY_MS = 120_000
const WALLETS_MAX = 20_000
const OBLIGATIONS_MAX = 100_000

/** Makes a memory of what was found lately, by wallet and market. */
export function createLately(clock: Clock) {
  const found = createRecent<{ readonly found: FoundObligations; readonly untilMs: number }>({
    entriesMax: WALLETS_MAX,
    weightMax: OBLIGATIONS_MAX,
    weightOf: ({ found: { targets } }) => targets.length,
  })
  const keyOf = (wallet: string, market: string | undefined) => `${wallet}:${market ?? ''}`
  return {
    of(wallet: string, market: string | undefined): FoundObligations | undefined {
      const kept = found.get(keyOf(wallet, market))
      return kept !== undefined && clock.monotonicMs() < kept.untilMs ? kept.found : undefined
    },
    note(wallet: string, market: string | undefined, each: FoundObligations): void {
      found.set(keyOf(wallet, market), { found: each, untilMs: clock.monotonicMs() + LATELY_MS })
    },
  }
}
