import * as v from 'valibot'
import { checksumAddress, toFunctionSelector } from 'viem'
import type { EnumerableExchange } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { createEnumerableProtocol } from '../../../../src/family/liquidity/enumerable/mod.ts'
import { integerText } from '../../../../src/family/liquidity/schema.ts'
import { evmAddress } from '../../../../src/finance/figure.ts'
import { formatExact } from '../../../../src/lib/number/decimal.ts'
import { LENS_RUNTIME } from './read/lens_artifact.ts'

/** The made-up exchange: it has the contracts of Uniswap V3, under other names, and stalls that keep positions. */
export const EXCHANGE: EnumerableExchange = {
  name: 'bazaar',
  words: {
    exchange: 'Bazaar',
    operation: 'bazaar',
    title: 'Bazaar',
    noun: 'bazaar position',
    describeMissing: (tokenId) => `No stall of the bazaar has position ${tokenId}`,
  },
  hasCustodians: true,
  computeReward([now = 0n, rate = 0n, since = 0n, penaltyBps = 0n, untilSec = 0n]) {
    const due = (now - since) * rate
    const perYear = rate * 31_536_000n
    if (now >= untilSec) return { amount: due, perYear, penalty: undefined }
    const forfeited = (due * penaltyBps) / 10_000n
    return { amount: due - forfeited, perYear, penalty: { amount: forfeited, untilSec } }
  },
  lens: { topic: 'bazaar', runtime: LENS_RUNTIME },
  streamName: 'bazaar_flow',
  poolKey: {
    getter: toFunctionSelector('fee()'),
    getPool: toFunctionSelector('getPool(address,address,uint24)'),
    max: 2n ** 24n - 1n,
  },
}

/** The protocol; its pools have an odd fee field: in percent, and the part of it that the pool keeps of either token. */
export const PROTOCOL = createEnumerableProtocol(EXCHANGE, {
  entries: {
    id: evmAddress,
    tick: integerText,
    fee: v.strictObject({ percent: v.string(), kept: v.array(v.string()) }),
  },
  present({ address, tick, fee, words: [kept = 0n] = [] }) {
    const parts = [kept & 15n, kept >> 4n].map((divisor) => (divisor === 0n ? '0' : `1/${divisor}`))
    return {
      id: checksumAddress(address),
      tick: tick.toString(),
      fee: { percent: formatExact(BigInt(fee), 4), kept: parts },
    }
  },
})
