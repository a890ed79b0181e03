import { expect, test } from 'bun:test'
import { pad, toHex, zeroHash } from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { SAMPLING } from '../../../../src/family/watch.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { AbortedError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import type { AssetReader } from '../../../../src/portfolio/read/read_chain.ts'
import { createWatcher } from '../../../../src/portfolio/routes/watch.ts'
import { createTestClock } from '../../../support/test_clock.ts'

const CHAIN_ID = 1
const CHAIN = {
  id: CHAIN_ID,
  name: 'Test',
  rpcUrls: [],
  reuseMs: 0,
  maxBlockAgeSec: 60,
  finality: { depth: 2 },
  prices: { usdFeeds: {}, stablecoins: [] },
  tokens: { addresses: [], names: [], added: [] },
  spamTokens: [],
}
const BLOCK = { chainId: CHAIN_ID, number: 1n, hash: zeroHash, parentHash: zeroHash, timestampSec: 1n }
const EMPTY = { block: BLOCK, assets: [], tokensAsked: 0, isUnsourced: false, notRead: [] }

/** Starts to read as many wallets as a block may have; these by number take longer than any limit. */
function startReading(slow: readonly number[]) {
  const clock = createTestClock()
  const wallets = Array.from({ length: SAMPLING.subjectsMax }, (_, index) => pad(toHex(index), { size: 20 }))
  const reader = {
    readAgreed: async ({ wallet }, { work: { signal } }) => {
      if (!slow.some((index) => wallets[index] === wallet)) return { value: EMPTY, endpoints: [0, 1] }
      return await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new AbortedError('The caller left'))),
      )
    },
  } as Pick<AssetReader, 'readAgreed'> as AssetReader
  const watcher = createWatcher({
    portfolio: { listFamilies: () => [], listTokenLists: () => [], listOmitted: () => [] },
    reader,
    chainIds: new Set([CHAIN_ID]),
    clock,
  })
  const client = createChainClient({ chain: CHAIN, clock, log: silentLog })
  const controller = new AbortController()
  const reading = watcher.confirm(
    wallets.map((wallet) => ({ wallet })),
    { client, block: BLOCK },
    createWork(controller.signal),
  )
  return { clock, reading, stop: () => controller.abort(new AbortedError('The caller left')) }
}

async function listFigures({ reading }: ReturnType<typeof startReading>) {
  return (await reading).map((each) => (each === 'gone' ? each : each.text('exit_usd')))
}

test('a wallet that takes too long is a missed sample, and keeps none of the others', async () => {
  const started = startReading([0])
  await started.clock.advance(SAMPLING.ms / 2)
  expect(await listFigures(started)).toEqual([null, '0.000000', '0.000000', '0.000000'])
})

test('all wallets of a block take no longer than they may, however slow each is', async () => {
  const started = startReading([0, 1, 2, 3])
  await started.clock.advance(SAMPLING.ms)
  expect(await listFigures(started)).toEqual([null, null, null, null])
})

test('an end of the work is no missed sample', async () => {
  const started = startReading([0])
  started.stop()
  await expect(started.reading).rejects.toThrow('The caller left')
})
