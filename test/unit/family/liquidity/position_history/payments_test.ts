import { expect, test } from 'bun:test'
import { type Hex, numberToHex } from 'viem'
import { createPaymentsReader } from '../../../../../src/family/liquidity/enumerable/position_history/payments.ts'
import type { CustodyEvent } from '../../../../../src/family/liquidity/position_history/custody_event.ts'
import { GAUGE_LOG } from '../../../../../src/family/slipstream/event.ts'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { DEPLOYMENT } from '../../../../support/family/uniswap_v3/support.ts'
import { createTestServices } from '../../../../support/family.ts'
import { createTestClock } from '../../../../support/test_clock.ts'

test('of a position that more wallets have staked than are asked about, nothing is asked', async () => {
  const { payments } = GAUGE_LOG
  if (payments === undefined) throw new Error('Expected the payments of gauges')
  // No database and no history: asking either would throw.
  const read = createPaymentsReader(payments, createTestServices({ clock: createTestClock() }))
  const events = Array.from({ length: 21 }, (_, index): CustodyEvent => {
    const wallet = numberToHex(index + 1, { size: 20 }) as Hex
    const place = {
      block: 10 + index,
      logIndex: 0,
      transactionHash: numberToHex(index, { size: 32 }),
      timestampSec: null,
    }
    return { tokenId: 7n, wallet, kind: 'stake', amount: 0n, ...place }
  })
  const custodian = { address: DEPLOYMENT.manager, kind: 'gauge', startBlock: 0 }
  const bounds = { finalTo: 40, end: 50 }
  const client = { chain: { id: 1 } } as Parameters<typeof read>[0]['client']
  const position = { client, manager: DEPLOYMENT.manager, custodian, tokenId: 7n, events, ...bounds }
  expect(await read(position, createWork(new AbortController().signal))).toEqual({
    ...bounds,
    events: [],
    unpaid: 'more than 20 wallets have staked it',
  })
})
