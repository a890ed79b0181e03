import { expect, test } from 'bun:test'
import { interpret } from '../../../../src/family/compound_v3/read/position.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

test('a price of zero, which no market answers, makes no debt worthless', () => {
  const market = {
    market: 0,
    totals: { lastAccrualSec: 1n },
    terms: { baseScale: 10n ** 6n, trackingIndexScale: 1n },
    price: 0n,
    reward: undefined,
  }
  const read = {
    block: { chainId: 1, number: 1n, timestampSec: 1n },
    taken: 1,
    markets: [market],
    collaterals: [],
    accounts: [],
    silent: [],
  }
  const deployment = { market: 'usdc', comet: toWalletAddress('comet'), startBlock: 0 }
  const requested = { chain: { id: 1 } as FinanceChain, markets: [deployment], wallets: [toWalletAddress('wallet')] }
  expect(() => interpret(read as never, requested)).toThrow('the price of its base token is zero')
})
