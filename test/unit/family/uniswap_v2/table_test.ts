import { expect, test } from 'bun:test'
import { V2_FACTORY_ADDRESSES } from '@uniswap/sdk-core'
import { getAddress } from 'viem'
import { CHAINS } from '../../../../src/chain/chains.ts'
import { UNISWAP_V2 } from '../../../../src/family/uniswap_v2/mod.ts'
import { UNISWAP_V2_FACTORIES } from '../../../../src/family/uniswap_v2/table.ts'
import { toWalletAddress } from '../../../devnet/addresses.ts'

test('the factories are those of Uniswap’s SDK on chains that are served', () => {
  const named = Object.entries(V2_FACTORY_ADDRESSES as Readonly<Record<string, string>>)
    .filter(([id]) => CHAINS.some((chain) => chain.id === Number(id)))
    .map(([id, factory]) => [Number(id), [{ factory: getAddress(factory), startBlock: 0 }]])
  expect(named.length).toBeGreaterThan(15)
  expect([...UNISWAP_V2_FACTORIES] as unknown[]).toEqual(named)
})

test('a row of CHAINS_FILE adds a factory, and refuses one that is described twice', () => {
  const factory = toWalletAddress('added factory')
  const configure = (row: object) => UNISWAP_V2.configure(new Map([[1, row]]))
  expect(configure({ add: { uniswapV2: [{ factory }] } }).settings.get(1)).toHaveLength(2)
  expect(configure({ uniswapV2: [{ factory }, { factory }] }).mistakes).toEqual([
    `factory ${factory} of chain 1 is described twice`,
  ])
})
