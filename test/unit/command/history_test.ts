import { expect, test } from 'bun:test'
import { formatStatus } from '../../../src/command/history.ts'
import { readConfig } from '../../../src/config/config.ts'
import type { StoredProgress } from '../../../src/history/coverage.ts'

const POOL = '0x87870bca3f3fd6335c3f4ce8392d69350b4fa4e2'
const { chains } = readConfig({ CHAINS: '1' }, () => '')

function toProgress(stream: string, more: Partial<StoredProgress> & { readonly chainId?: number }): StoredProgress {
  const { chainId = 1, ...rest } = more
  const target = { chainId, contract: POOL } as const
  return { target, stream, subjects: 0, globalRanges: [], requested: undefined, anchor: 9, isStopped: false, ...rest }
}

test('formatStatus() aligns what is indexed, in words, and tells how to rebuild a stopped chain', () => {
  const text = formatStatus(
    [
      toProgress('aave_v3_lending', { requested: { blocks: 3_000, missing: 2_000 } }),
      toProgress('uniswap_v4_transfer', { subjects: 1_200 }),
      toProgress('morpho_blue_market', { chainId: 77, requested: { blocks: 9, missing: 0 }, isStopped: true }),
      toProgress('morpho_blue_other', { chainId: 77, isStopped: true }),
    ],
    chains,
  )
  expect(text).toBe(
    [
      'chain         history                          contract     indexed                           blocks left  read alone',
      'Ethereum (1)  Aave V3, deposits and debts      0x8787…a4e2  [#######-----------------]  33 %  2,000        0',
      'Ethereum (1)  Uniswap V4, owners of positions  0x8787…a4e2  not asked for                     -            1,200',
      'chain 77      Morpho Blue, markets             0x8787…a4e2  [########################] 100 %  0            0',
      'chain 77      Morpho Blue, other               0x8787…a4e2  not asked for                     -            0',
      'chain 77 STOPPED: a final block was replaced; if the chain is correct, rebuild it: walletscope index --chain 77 --forget',
    ].join('\n'),
  )
  expect(formatStatus([], chains)).toBe('No history is stored yet')
})
