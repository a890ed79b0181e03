import { expect, test } from 'bun:test'
import { zeroAddress, zeroHash } from 'viem'
import { computePnl, type ValuedFlow } from '../../../../src/family/vaults/event/pnl.ts'
import { dollars } from '../../portfolio/sum/assets.ts'

const priced = dollars(1n)
if (priced.kind !== 'price') throw new Error('Expected a price')
const { price } = priced
const missing = { because: 'no feed told it' }

const flow = (kind: ValuedFlow['kind'], assets: bigint, more: Partial<ValuedFlow> = {}): ValuedFlow => ({
  wallet: zeroAddress,
  block: 5,
  logIndex: 0,
  counterparty: zeroAddress,
  transactionHash: zeroHash,
  timestampSec: 1,
  shares: assets,
  kind,
  assets,
  price,
  ...more,
})

test('each figure in US dollars that is not known has its reason, also one that is no part of the profit', () => {
  const tell = (...flows: readonly ValuedFlow[]) => {
    const pnl = computePnl(flows, { worth: 7n, decimals: 0, price })
    return [pnl.pnl.usd === undefined, pnl.penalty.usd === undefined, pnl.missing]
  }
  expect(tell(flow('deposit', 5n))).toEqual([false, false, undefined])
  expect(tell(flow('deposit', 5n, { price: missing }))).toEqual([true, false, missing.because])
  expect(tell(flow('penalty', 5n, { price: missing }))).toEqual([false, true, missing.because])
  // Nothing is worth nothing at any price.
  const nothing = flow('deposit', 0n, { price: { because: 'it was not asked' } })
  expect(tell(nothing)).toEqual([false, false, undefined])
  expect(tell(nothing, flow('send', 5n, { price: missing }))).toEqual([true, false, missing.because])
})
