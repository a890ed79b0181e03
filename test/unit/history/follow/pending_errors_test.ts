import { expect, test } from 'bun:test'
import { finalAgeMaxSec } from '../../../../src/chain/block_age.ts'
import type { Chain } from '../../../../src/chain/chain.ts'
import type { ChainClient } from '../../../../src/chain/rpc/client.ts'
import { checkHistoryAge } from '../../../../src/history/follow/failure.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { createFixedClock } from '../../../support/test_clock.ts'

test('a history ends at a block of limited age, or says how old that is', () => {
  const chain = { id: 5, name: 'Test', finality: { tag: 'finalized' } } as Partial<Chain> as Chain
  const client = { chain } as Partial<ChainClient> as ChainClient
  const most = Math.floor(finalAgeMaxSec(chain))
  const block = { chainId: 5, number: 7n, hash: toHash(7), parentHash: toHash(6), timestampSec: 1_000_000n }
  const clock = createFixedClock(() => (1_000_000 + most) * 1_000, 0)
  expect(() => checkHistoryAge(client, block, clock)).not.toThrow()
  expect(() => checkHistoryAge(client, { ...block, timestampSec: 999_998n }, clock)).toThrow(
    `ends at block 7, which is ${most + 2} s old (check "final block", at most ${most} s)`,
  )
})
